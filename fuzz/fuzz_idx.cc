#include "argosy/data/files/idx.h"
#include "fuzz/input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)argosy::data::read_idx(argosy::input_file("idx", argosy::as_text(data, size)));
  return 0;
}
