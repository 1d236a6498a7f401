#include "argosy/tf/graph/imported_graph.h"

#include <google/protobuf/stubs/common.h>

#include <charconv>
#include <climits>
#include <deque>
#include <optional>
#include <unordered_map>

#include "argosy/base/guard.h"
#include "argosy/base/memory/host_budget.h"
#include "argosy/base/threads/interrupt.h"
#include "argosy/formats/proto/graph.pb.h"
#include "argosy/tf/graph/attr_proto.h"
#include "argosy/tf/graph/graph_importer.h"
#include "argosy/tf/graph/graph_versions.h"
#include "argosy/tf/graph/record_users.h"

namespace argosy::tf {

namespace {

using tensorflow::GraphDef;
using tensorflow::NodeDef;

constexpr int kMostOutputs = 1 << 24;
constexpr int kNodesBetweenPolls = 1024;

bool is_alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

// True for TensorFlow's node names: segments of letters, digits and any of "._-/\", separated by '>'. Each begins with
// a letter, a digit or '.'.
bool is_node_name(std::string_view name, bool internal) {
  if (internal && name.starts_with('_')) name.remove_prefix(1);
  bool first = true;
  for (const char c : name) {
    const bool inside = is_alphanumeric(c) || c == '.';
    if (first ? !inside : !inside && c != '_' && c != '-' && c != '/' && c != '\\' && c != '>') return false;
    first = c == '>';
  }
  return !first;
}

// Parses "name", "name:3" or "^name" (index Value::kControl). False: another form.
bool parse_endpoint(std::string_view text, std::string_view& name, std::int32_t& index) {
  index = 0;
  if (text.starts_with('^')) {
    name = text.substr(1);
    index = Value::kControl;
    return !name.empty();
  }
  const std::size_t colon = text.rfind(':');
  name = text.substr(0, colon);
  if (colon == std::string_view::npos) return !name.empty();
  const std::string_view digits = text.substr(colon + 1);
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  const bool leading_zero = digits.size() > 1 && digits[0] == '0';
  return !name.empty() && read.ec == std::errc() && read.ptr == digits.data() + digits.size() && !leading_zero &&
         index >= 0 && index < kMostOutputs;
}

Status bad_node(const NodeDef& node, const auto&... what) {
  return invalid_argument("Node '", node.name(), "': ", what...).with_id("ARG-IMPORT-006");
}

}  // namespace

class ImportedGraph::Impl {
 public:
  Impl() = default;
  explicit Impl(const OpRegistry& ops) : graph_(ops) {}

  Status extend(GraphDef&& def) {
    ARGOSY_RETURN_IF_ERROR(GraphVersions::check(def.versions()));
    ARGOSY_RETURN_IF_ERROR(functions_.library().check(def.library()));
    // Twice its size: the message, and the tensors of its constants.
    ARGOSY_ASSIGN_OR_RETURN(auto reserved,
                            host_budget().reserve(HostUse::kGraphs, 2 * static_cast<std::int64_t>(def.ByteSizeLong()),
                                                  str_cat("a graph of ", def.node_size(), " nodes")));
    parts_.push_back(std::move(def));
    std::vector<GraphImporter::Input> inputs;
    std::vector<std::size_t> ends;
    Status added = guarded([&] { return read(parts_.back(), inputs, ends); });
    if (!added.ok()) {
      for (const NodeDef& node : parts_.back().node()) {
        const auto found = names_.find(node.name());
        if (found != names_.end() && found->second >= nodes_.size()) names_.erase(found);
      }
      parts_.pop_back();
      return added;
    }
    reserved_.push_back(std::move(reserved));
    GraphDef& part = parts_.back();
    const int producer = part.versions().producer();
    std::size_t first = 0;
    for (int i = 0; i < part.node_size(); ++i) {
      const auto taken = std::span(inputs).subspan(first, ends[i] - first);
      if (users_) users_->add(nodes_.size(), taken);
      nodes_.add({&part.node(i), producer}, taken);
      defs_.push_back(part.mutable_node(i));
      first = ends[i];
    }
    functions_.library().add(part.library(), producer);
    part.mutable_library()->Clear();
    versions_.merge(part.versions());
    return ok_status();
  }

  void convert_resource_users() { users_.emplace(); }
  void allow_internal_names() { internal_names_ = true; }
  bool has(std::string_view name) const { return names_.contains(name); }
  int num_nodes() const { return nodes_.size(); }
  Graph& graph() { return graph_; }

  Result<Value> value(std::string_view text) {
    std::string_view name;
    std::int32_t index = 0;
    if (!parse_endpoint(text, name, index)) {
      return invalid_argument("\"", text, "\" is not \"node\", \"node:output\" or \"^node\"").with_id("ARG-GRAPH-002");
    }
    const auto found = names_.find(name);
    if (found == names_.end()) return unknown(name);
    const std::int32_t node = found->second;
    convert(std::span(&node, 1));
    convert_users();
    if (!nodes_.converted(node)) return nodes_.status(node);
    const NodeId id = nodes_.id(node);
    const int outputs = static_cast<int>(graph_.node(id).output_dtypes.size());
    if (index == 0 && outputs == 0 && name == text) index = Value::kControl;
    if (index >= outputs) {
      return invalid_argument("\"", text, "\": node \"", name, "\" has ", outputs, " outputs").with_id("ARG-GRAPH-002");
    }
    return Value(&graph_, id, index);
  }

  Result<Value> value_to_feed(std::string_view text) {
    auto value = this->value(text);
    std::string_view name;
    std::int32_t index = 0;
    if (value.ok() || !parse_endpoint(text, name, index) || index == Value::kControl) return value;
    const auto found = names_.find(name);
    if (found == names_.end() || nodes_.converted(found->second)) return value;
    ARGOSY_ASSIGN_OR_RETURN(const Endpoint place, nodes_.stand_in(found->second, index));
    return Value(&graph_, place.node, place.index);
  }

  Status write(GraphDef* def) const {
    def->Clear();
    for (const NodeDef* node : defs_) *def->add_node() = *node;
    for (std::size_t i = 0; i < forgotten_; ++i) {
      const std::int32_t node = nodes_.done()[i];
      if (defs_[static_cast<std::size_t>(node)]->op() != "Const") continue;
      const AttrValue* value = graph_.node(nodes_.id(node)).attrs.find("value");
      auto& attrs = *def->mutable_node(node)->mutable_attr();
      if (value != nullptr) ARGOSY_RETURN_IF_ERROR(to_proto(*value, &attrs["value"]));
    }
    for (const auto& function : functions_.library().all()) *def->mutable_library()->add_function() = function;
    for (const auto& [function, gradient] : functions_.library().gradients()) {
      auto* pair = def->mutable_library()->add_gradient();
      pair->set_function_name(function);
      pair->set_gradient_func(gradient);
    }
    *def->mutable_versions() = versions_.all();
    return ok_status();
  }

  std::vector<Failure> convert_all() {
    std::vector<std::int32_t> all(static_cast<std::size_t>(nodes_.size()));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int32_t>(i);
    functions_.use_all();
    convert(all);
    std::vector<Failure> failures;
    for (const std::int32_t node : all) {
      if (nodes_.converted(node)) continue;
      const NodeDef& def = *nodes_.source(node).def;
      failures.push_back({def.name(), def.op(), nodes_.status(node)});
    }
    return failures;
  }

 private:
  // Reads names and inputs of all nodes; `ends[i]`: the end of node i's inputs. An error leaves the names in names_.
  Status read(const GraphDef& part, std::vector<GraphImporter::Input>& inputs, std::vector<std::size_t>& ends) {
    const std::int32_t base = nodes_.size();
    if (part.node_size() > INT_MAX / 2 - base) return resource_exhausted("too many nodes").with_id("ARG-IMPORT-008");
    names_.reserve(names_.size() + static_cast<std::size_t>(part.node_size()));
    for (int i = 0; i < part.node_size(); ++i) {
      const NodeDef& node = part.node(i);
      if (!is_node_name(node.name(), internal_names_)) {
        return bad_node(node, "Node name contains invalid characters");
      }
      if (!names_.emplace(node.name(), base + i).second) {
        return bad_node(node, "the name is not unique");
      }
    }
    ends.reserve(static_cast<std::size_t>(part.node_size()));
    Poll interrupts(kNodesBetweenPolls);
    for (const NodeDef& node : part.node()) {
      interrupts();
      bool controls = false;
      for (const std::string& text : node.input()) {
        std::string_view name;
        std::int32_t index = 0;
        if (!parse_endpoint(text, name, index)) return bad_node(node, "Input '", text, "' is malformed");
        const auto found = names_.find(name);
        if (found == names_.end()) return bad_node(node, "Unknown input node '", text, "'");
        if (index != Value::kControl && controls) {
          return bad_node(node, "Control dependencies must come after regular dependencies");
        }
        controls = index == Value::kControl;
        inputs.push_back({found->second, index});
      }
      ends.push_back(inputs.size());
    }
    return ok_status();
  }

  Status unknown(std::string_view name) const {
    std::vector<std::string> names;
    for (const auto& [known, node] : names_) names.emplace_back(known);
    const std::string near = nearest_word(name, names);
    return not_found("the graph has no node \"", name, "\"")
        .with_id("ARG-GRAPH-001")
        .with_hint(near.empty() ? "" : str_cat("\"", near, "\", if that was meant"));
  }

  // Converts the consumers of all handles that were converted since the last call, and so on to a fixpoint.
  void convert_users() {
    if (!users_) return;
    for (; users_seen_ < nodes_.done().size(); ++users_seen_) {
      const std::int32_t node = nodes_.done()[users_seen_];
      const NodeId id = nodes_.id(node);
      const Node& n = graph_.node(id);
      const bool handle = !n.output_dtypes.empty() && (n.output_dtypes[0] == DType::kResource || n.output_is_ref(0));
      if (handle) convert(users_->of(node));
    }
  }

  void convert(std::span<const std::int32_t> roots) {
    nodes_.convert(roots);
    functions_.convert_pending();
    if (const auto failed = functions_.take_failed(); !failed.empty()) nodes_.fail_callers(failed);
    forget_constants();
  }

  // Clears the values of converted constants in the GraphDef: the graph has them, and a frozen model must not be held
  // twice.
  void forget_constants() {
    for (; forgotten_ < nodes_.done().size(); ++forgotten_) {
      NodeDef& def = *defs_[static_cast<std::size_t>(nodes_.done()[forgotten_])];
      if (def.op() == "Const") def.mutable_attr()->erase("value");
    }
  }

  bool internal_names_ = false;
  std::optional<RecordUsers> users_;  // none: they are converted when a value needs them
  std::size_t users_seen_ = 0;        // of nodes_.done()
  Graph graph_;
  FunctionTable functions_{graph_};
  GraphImporter nodes_{graph_, BuildContext{functions_}};
  std::vector<HostBudget::Reservation> reserved_;  // of parts_
  std::deque<GraphDef> parts_;  // as they came, but for their functions and the values of constants in graph_
  std::vector<NodeDef*> defs_;  // of every node
  std::size_t forgotten_ = 0;   // of nodes_.done()
  std::unordered_map<std::string_view, std::int32_t> names_;
  GraphVersions versions_;
};

ImportedGraph::ImportedGraph() : impl_(std::make_unique<Impl>()) {}
ImportedGraph::ImportedGraph(const OpRegistry& ops) : impl_(std::make_unique<Impl>(ops)) {}
ImportedGraph::~ImportedGraph() = default;
ImportedGraph::ImportedGraph(ImportedGraph&&) noexcept = default;
void ImportedGraph::convert_resource_users() { impl_->convert_resource_users(); }
void ImportedGraph::allow_internal_names() { impl_->allow_internal_names(); }
ImportedGraph& ImportedGraph::operator=(ImportedGraph&&) noexcept = default;

Status ImportedGraph::extend(std::string_view serialized) {
  GraphDef def;
  const bool fits = serialized.size() <= INT_MAX;
  if (!fits || !def.ParseFromArray(serialized.data(), static_cast<int>(serialized.size()))) {
    return invalid_argument(serialized.size(), " bytes are not a GraphDef").with_id("ARG-IMPORT-009");
  }
  return impl_->extend(std::move(def));
}

Status ImportedGraph::extend(GraphDef&& def) { return impl_->extend(std::move(def)); }
Status ImportedGraph::write(GraphDef* def) const { return impl_->write(def); }
bool ImportedGraph::has(std::string_view node) const { return impl_->has(node); }
int ImportedGraph::num_nodes() const { return impl_->num_nodes(); }
Result<Value> ImportedGraph::value(std::string_view name) { return impl_->value(name); }
Result<Value> ImportedGraph::value_to_feed(std::string_view name) { return impl_->value_to_feed(name); }
Graph& ImportedGraph::graph() { return impl_->graph(); }
const Graph& ImportedGraph::graph() const { return impl_->graph(); }
std::vector<ImportedGraph::Failure> ImportedGraph::convert_all() { return impl_->convert_all(); }

}  // namespace argosy::tf
