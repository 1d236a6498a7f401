#include "argosy/tf/graph/tools/graph_tools.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <map>

#include "argosy/formats/proto/meta_graph.pb.h"
#include "argosy/tf/graph/attr_proto.h"
#include "argosy/tf/graph/graph_export.h"
#include "argosy/tf/graph/graph_file.h"
#include "argosy/tf/graph/tools/graph_strip.h"

namespace argosy::tf {

namespace {

using tensorflow::GraphDef;
using tensorflow::NodeDef;

constexpr std::size_t kMostShown = 60;  // characters of an attribute

// Returns equal text for equal messages, whatever the order of their maps.
std::string canonical(const google::protobuf::MessageLite& message) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream out(&stream);
    out.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&out);
  }
  return bytes;
}

std::string shown(const tensorflow::AttrValue& value) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  std::string text;
  printer.PrintToString(value, &text);
  while (text.ends_with(' ')) text.pop_back();
  return text.size() > kMostShown ? text.substr(0, kMostShown) + "…" : text;
}

// Returns the inputs in a canonical form: "name" for "name:0"; control inputs sorted.
std::vector<std::string> inputs_of(const NodeDef& node) {
  std::vector<std::string> data, controls;
  for (std::string input : node.input()) {
    if (input.starts_with('^')) {
      controls.push_back(std::move(input));
    } else {
      if (input.ends_with(":0") && input.find(':') == input.size() - 2) input.resize(input.size() - 2);
      data.push_back(std::move(input));
    }
  }
  std::sort(controls.begin(), controls.end());
  data.insert(data.end(), controls.begin(), controls.end());
  return data;
}

// True if two attributes have the same value. A constant may be spelled as raw bytes in one and as numbers in the
// other.
bool equal(const tensorflow::AttrValue& a, const tensorflow::AttrValue& b) {
  if (a.value_case() != b.value_case()) return false;
  if (canonical(a) == canonical(b)) return true;
  if (!a.has_tensor()) return false;
  const auto one = from_proto(a, nullptr, {}), two = from_proto(b, nullptr, {});
  return one.ok() && two.ok() && attr_equal(*one, *two);
}

class Differences {
 public:
  explicit Differences(const OpRegistry* ops) : ops_(ops) {}
  std::vector<GraphDifference> found;

  template <typename List, typename Name, typename Compare>
  void lists(const List& first, const List& second, std::string_view what, Name&& name, Compare&& compare) {
    std::map<std::string, std::pair<const typename List::value_type*, const typename List::value_type*>> by_name;
    for (const auto& item : first) by_name[name(item)].first = &item;
    for (const auto& item : second) by_name[name(item)].second = &item;
    for (const auto& [key, pair] : by_name) {
      const std::string label = str_cat(what, " ", key);
      if (pair.second == nullptr) {
        found.push_back({GraphDifference::Kind::kOnlyFirst, label, ""});
      } else if (pair.first == nullptr) {
        found.push_back({GraphDifference::Kind::kOnlySecond, label, ""});
      } else if (std::string details = compare(*pair.first, *pair.second); !details.empty()) {
        found.push_back({GraphDifference::Kind::kChanged, label, std::move(details)});
      }
    }
  }

  std::string nodes(const NodeDef& a, const NodeDef& b) const {
    std::vector<std::string> parts;
    if (a.op() != b.op()) parts.push_back(str_cat("op ", a.op(), " | ", b.op()));
    if (a.device() != b.device()) parts.push_back(str_cat("device \"", a.device(), "\" | \"", b.device(), "\""));
    const auto left = inputs_of(a), right = inputs_of(b);
    if (left != right) parts.push_back(str_cat("inputs (", str_join(left), ") | (", str_join(right), ")"));
    std::map<std::string, std::pair<const tensorflow::AttrValue*, const tensorflow::AttrValue*>> attrs;
    for (const auto& [name, value] : a.attr()) attrs[name].first = &value;
    for (const auto& [name, value] : b.attr()) attrs[name].second = &value;
    for (const auto& [name, pair] : attrs) {
      tensorflow::AttrValue filled;
      const auto* one = pair.first != nullptr ? pair.first : default_of(a, name, filled);
      const auto* two = pair.second != nullptr ? pair.second : default_of(b, name, filled);
      if (one != nullptr && two != nullptr && equal(*one, *two)) continue;
      parts.push_back(str_cat("attr ", name, " ", one ? shown(*one) : "—", " | ", two ? shown(*two) : "—"));
    }
    return str_join(parts, "; ");
  }

 private:
  const tensorflow::AttrValue* default_of(const NodeDef& node, const std::string& name,
                                          tensorflow::AttrValue& to) const {
    const OpDef* op = ops_ == nullptr ? nullptr : ops_->find(node.op());
    const AttrDef* def = op == nullptr ? nullptr : op->attr(name);
    if (def == nullptr || std::holds_alternative<std::monostate>(def->value)) return nullptr;
    return to_proto(def->value, &to).ok() ? &to : nullptr;
  }

  const OpRegistry* ops_;
};

std::string function_difference(const Differences& differences, const tensorflow::FunctionDef& a,
                                const tensorflow::FunctionDef& b) {
  if (canonical(a) == canonical(b)) return "";
  Differences inside(differences);
  inside.found.clear();
  inside.lists(
      a.node_def(), b.node_def(), "node", [](const NodeDef& n) { return n.name(); },
      [&](const NodeDef& x, const NodeDef& y) { return inside.nodes(x, y); });
  std::vector<std::string> parts;
  for (const GraphDifference& d : inside.found) {
    const char* only = d.kind == GraphDifference::Kind::kOnlyFirst ? " only in the first" : " only in the second";
    parts.push_back(d.kind == GraphDifference::Kind::kChanged ? str_cat(d.what, ": ", d.details) : d.what + only);
  }
  return parts.empty() ? "signature, returns or attributes" : str_join(parts, "; ");
}

std::string quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace

struct GraphForm::Impl {
  GraphDef def;
  const OpRegistry* ops = nullptr;
};

GraphForm::GraphForm(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GraphForm::GraphForm(GraphForm&&) noexcept = default;
GraphForm& GraphForm::operator=(GraphForm&&) noexcept = default;
GraphForm::~GraphForm() = default;

Result<GraphForm> GraphForm::read(const std::string& path, const std::vector<std::string>& tags,
                                  const OpRegistry& ops) {
  ARGOSY_ASSIGN_OR_RETURN(GraphFile file, read_graph_file(path, tags));
  auto impl = std::make_unique<Impl>();
  impl->def = std::move(*file.meta->mutable_graph_def());
  impl->ops = &ops;
  return GraphForm(std::move(impl));
}

Result<GraphForm> GraphForm::of(const Graph& graph) {
  auto impl = std::make_unique<Impl>();
  ARGOSY_RETURN_IF_ERROR(export_graph(graph, &impl->def));
  impl->ops = &graph.ops();
  return GraphForm(std::move(impl));
}

std::vector<GraphDifference> GraphForm::differences(const GraphForm& second) const {
  Differences differences(impl_->ops);
  differences.lists(
      impl_->def.node(), second.impl_->def.node(), "node", [](const NodeDef& n) { return n.name(); },
      [&](const NodeDef& a, const NodeDef& b) { return differences.nodes(a, b); });
  differences.lists(
      impl_->def.library().function(), second.impl_->def.library().function(), "function",
      [](const tensorflow::FunctionDef& f) { return f.signature().name(); },
      [&](const auto& a, const auto& b) { return function_difference(differences, a, b); });
  return std::move(differences.found);
}

Result<std::string> GraphForm::strip(const StripOptions& options) {
  return strip_graph(impl_->def, *impl_->ops, options);
}

int GraphForm::num_nodes() const { return impl_->def.node_size(); }

std::string GraphForm::text() const {
  std::string text;
  for (const NodeDef& node : impl_->def.node()) {
    text += str_cat(node.name(), " = ", node.op(), "(", str_join(inputs_of(node)), ")",
                    node.device().empty() ? "" : " @", node.device(), "\n");
  }
  for (const auto& f : impl_->def.library().function()) {
    text += str_cat("\nfunction ", f.signature().name(), " {\n");
    for (const NodeDef& node : f.node_def()) {
      text += str_cat("  ", node.name(), " = ", node.op(), "(", str_join(inputs_of(node)), ")\n");
    }
    text += "}\n";
  }
  return text;
}

std::string GraphForm::dot() const {
  std::string text = "digraph {\n  node [shape=box, fontname=Helvetica];\n";
  for (const NodeDef& node : impl_->def.node()) {
    text += str_cat("  ", quoted(node.name()), " [label=", quoted(str_cat(node.name(), " ", node.op())), "];\n");
    for (const std::string& input : node.input()) {
      const bool control = input.starts_with('^');
      const std::string from = control ? input.substr(1) : input.substr(0, input.find(':'));
      text += str_cat("  ", quoted(from), " -> ", quoted(node.name()), control ? " [style=dashed];\n" : ";\n");
    }
  }
  return text + "}\n";
}

Status GraphForm::save(const std::string& path) const { return write_graph_file(path, impl_->def); }

}  // namespace argosy::tf
