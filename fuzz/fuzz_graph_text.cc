// Graphs as text: whatever it says, an error or a graph whose text says the same again.
#include "argosy/graph/text.h"

#include "argosy/base/check.h"
#include "argosy/ops/ops.h"
#include "fuzz/input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto graph = argosy::parse_text(argosy::as_text(data, size), argosy::builtin_ops());
  if (!graph.ok()) return 0;
  const std::string text = argosy::to_text(*graph);
  (void)argosy::to_dot(*graph);
  const auto again = argosy::parse_text(text, argosy::builtin_ops());
  ARGOSY_CHECK(again.ok() && argosy::to_text(*again) == text);
  return 0;
}
