#include <algorithm>
#include <cstring>

#include "argosy/formats/checkpoint/checkpoint.h"
#include "argosy/formats/checkpoint/checkpoint_directory.h"
#include "fuzz/input_file.h"

// Two bytes say how long the index is; the data file follows it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t index = std::min<std::size_t>(data[0] + 256u * data[1], size - 2);
  const std::string prefix = argosy::input_file("c.index", argosy::as_text(data + 2, index));
  argosy::input_file("c.data-00000-of-00001", argosy::as_text(data + 2 + index, size - 2 - index));
  const auto reader = argosy::tf::CheckpointReader::open(prefix.substr(0, prefix.size() - 6));
  if (!reader.ok()) return 0;
  (void)reader->verify();
  for (const auto& entry : reader->entries()) (void)reader->read(entry.name);
  (void)reader->read("no such tensor");
  return 0;
}
