#include "argosy/tf/worker/peers/rpc_error.h"

#include "argosy/base/system/confined_path.h"
#include "argosy/base/utf8.h"
#include "argosy/op/kernel/derived_status.h"

namespace argosy::tf {

namespace {
constexpr std::string_view kCut = "... [cut]";
constexpr std::string_view kNode = "node '";
}  // namespace

Status at_node(Status status, std::string_view node) { return std::move(status).with_where(str_cat(kNode, node, "'")); }

std::string node_of(const Status& status) {
  const std::string_view where = status.where();
  const std::size_t begin = where.find(kNode);
  if (begin == std::string_view::npos) return "";
  const std::string_view name = where.substr(begin + kNode.size());
  return std::string(name.substr(0, name.find('\'')));
}

namespace {

std::string message_of(const Status& status, std::string text) {
  const std::string node = node_of(status);
  const std::string tail = escape_non_utf8(node.empty() ? "" : str_cat("\n\t [[{{node ", node, "}}]]"));
  text += status.message();
  if (node.empty() && !status.where().empty()) text += str_cat(" (", status.where(), ")");
  if (!status.hint().empty()) text += str_cat("\n  try: ", status.hint());
  for (std::size_t at; (at = text.find(kConfined)) != std::string::npos;) text.replace(at, kConfined.size(), "/");
  text = escape_non_utf8(std::move(text));  // it may quote bytes of users
  if (text.size() + tail.size() > kMaxErrorBytes) {
    const std::size_t room = kMaxErrorBytes - kCut.size();
    text.resize(utf8_prefix(text, tail.size() < room ? room - tail.size() : 0).size());
    text += kCut;
  }
  return std::string(utf8_prefix(text + tail, kMaxErrorBytes));
}

}  // namespace

std::string client_message(const Status& status, std::string_view task) {
  if (is_derived(status)) {
    const Status plain = without_derived_mark(status);
    return std::string(derived_status(Status(plain.code(), client_message(plain, task))).message());
  }
  return message_of(status, node_of(status).empty() ? "" : str_cat("From ", task, ":\n"));
}

std::string worker_message(const Status& status) { return message_of(status, ""); }

}  // namespace argosy::tf
