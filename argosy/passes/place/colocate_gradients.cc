#include "argosy/passes/place/colocate_gradients.h"

#include <cctype>
#include <string>

namespace argosy {

namespace {

// The end of `word` or `word_12` at the start of `text`, which a '/' follows; 0: it does not start so.
std::size_t end_of_scope(std::string_view text, std::string_view word) {
  if (!text.starts_with(word)) return 0;
  std::size_t end = word.size();
  if (end < text.size() && text[end] == '_') {
    ++end;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
  }
  return end < text.size() && text[end] == '/' ? end : 0;
}

}  // namespace

std::string_view forward_request(const Graph& graph, const Node& node) {
  if (!node.device.empty() || !node.colocated_with.empty()) return {};
  const std::string_view name = node.name;
  for (std::size_t at = name.find("gradients"); at != std::string_view::npos; at = name.find("gradients", at + 1)) {
    const std::size_t end = at == 0 || name[at - 1] == '/' ? end_of_scope(name.substr(at), "gradients") : 0;
    if (end == 0) continue;
    const std::string_view rest = name.substr(at + end + 1);
    for (std::size_t mark = rest.find("_grad"); mark != std::string_view::npos; mark = rest.find("_grad", mark + 1)) {
      if (end_of_scope(rest.substr(mark), "_grad") == 0) continue;
      const auto forward = graph.find(rest.substr(0, mark));
      if (forward && !graph.node(*forward).device.empty()) return graph.node(*forward).device;
    }
  }
  return {};
}

}  // namespace argosy
