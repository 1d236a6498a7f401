#include "argosy/formats/events/events.h"
#include "fuzz/input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto reader = argosy::tf::EventReader::open(argosy::input_file("events", argosy::as_text(data, size)));
  ARGOSY_CHECK(reader.ok());
  for (;;) {
    const auto event = reader->next();
    if (!event.ok() || !*event) return 0;
  }
}
