#include <vector>

#include "argosy/data/image.h"
#include "fuzz/input_file.h"

// The first byte chooses the channels.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const int channels = data[0] % 2 == 0 ? 1 : 3;
  const auto image = argosy::data::decode_image(argosy::as_text(data + 1, size - 1), channels);
  if (!image.ok() || image->elements() > (1 << 20)) return 0;
  std::vector<float> small(static_cast<std::size_t>(7 * 5 * channels));
  argosy::data::resize_to_float(*image, 7, 5, small.data());
  return 0;
}
