#include <cstring>

#include "argosy/data/files/npy.h"
#include "fuzz/input_file.h"

// What can be read can be written, and reads back the same.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto read = argosy::data::read_npy(argosy::input_file("a.npy", argosy::as_text(data, size)));
  if (!read.ok()) return 0;
  const std::string copy = argosy::join_path(argosy::fuzz_directory(), "b.npy");
  if (!argosy::data::write_npy(copy, *read).ok()) return 0;
  const auto again = argosy::data::read_npy(copy);
  ARGOSY_CHECK(again.ok() && again->dtype() == read->dtype() && again->shape() == read->shape());
  ARGOSY_CHECK(read->bytes() == 0 || std::memcmp(again->raw(), read->raw(), read->bytes()) == 0);
  return 0;
}
