#include "argosy/graph/graph.h"

#include <algorithm>
#include <atomic>

#include "argosy/base/guard.h"
#include "argosy/base/memory/huge_pages.h"
#include "argosy/base/mutex.h"
#include "argosy/graph/function_body.h"
#include "argosy/graph/shape_error.h"

namespace argosy {

namespace {
const PartialShape kNoShape;
constexpr std::string_view kClass = "_class",
                           kColocationPrefix = "loc:@";  // TensorFlow's words for Node::colocated_with
}  // namespace

Name Value::node_name() const { return valid() ? graph_->node(node_).name : Name(); }
std::string Value::name() const {
  return index_ == kControl ? str_cat("^", node_name()) : str_cat(node_name(), ":", index_);
}
DType Value::dtype() const { return valid() && index_ >= 0 ? graph_->dtype(endpoint()) : DType::kInvalid; }
const PartialShape& Value::shape() const { return valid() && index_ >= 0 ? graph_->shape(endpoint()) : kNoShape; }

SmallVector<std::string_view, 2> Node::colocation() const {
  SmallVector<std::string_view, 2> names;
  for (std::string_view rest = colocated_with; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    names.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return names;
}

AttrMap Node::attributes() const {
  if (colocated_with.empty()) return attrs;
  auto classes = attrs.get_or<std::vector<std::string>>(kClass, {});
  for (const std::string_view name : colocation()) classes.push_back(str_cat(kColocationPrefix, name));
  AttrMap all = attrs;
  all.set(kClass, std::move(classes));
  return all;
}

Graph::Graph(const OpRegistry& ops) : ops_(&ops) {}
// As the default, but for the one member whose move allocates: libstdc++'s deque leaves an empty one behind.
Graph::Graph(Graph&& other) noexcept
    : ops_(other.ops_),
      status_(std::move(other.status_)),
      nodes_(std::move(other.nodes_)),
      names_(std::move(other.names_)),
      names_stale_(other.names_stale_),
      pool_(std::move(other.pool_)),
      devices_(std::move(other.devices_)),
      last_colocation_(other.last_colocation_),
      asks_for_devices_(other.asks_for_devices_),
      waited_for_(std::move(other.waited_for_)),
      in_order_(other.in_order_),
      ops_met_(std::move(other.ops_met_)),
      last_met_(other.last_met_),
      attr_pool_(std::move(other.attr_pool_)),
      first_fact_(std::move(other.first_fact_)),
      facts_(once_there_is_memory([&other] { return std::deque<Fact>(std::move(other.facts_)); })),
      functions_(std::move(other.functions_)),
      seed_(other.seed_),
      op_seeds_(other.op_seeds_),
      inner_(other.inner_),
      body_(other.body_),
      function_prefix_(std::move(other.function_prefix_)),
      function_counts_(std::move(other.function_counts_)),
      name_prefix_(std::move(other.name_prefix_)),
      device_(std::move(other.device_)),
      control_scope_(std::move(other.control_scope_)),
      colocation_(other.colocation_) {}
Graph& Graph::operator=(Graph&&) noexcept = default;
Graph::~Graph() = default;

Graph Graph::clone() const {
  Graph copy(*ops_);
  copy.status_ = status_;
  copy.nodes_ = nodes_;
  copy.pool_->retain(pool_);
  copy.devices_ = devices_;
  copy.asks_for_devices_ = asks_for_devices_;
  copy.waited_for_ = waited_for_;
  copy.in_order_ = in_order_;
  copy.ops_met_ = ops_met_;
  copy.names_ = names();
  copy.first_fact_ = first_fact_;
  copy.facts_ = facts_;
  copy.functions_ = functions_;
  copy.seed_ = seed_;
  copy.op_seeds_ = op_seeds_;
  copy.function_prefix_ = function_prefix_;
  copy.function_counts_ = function_counts_;
  return copy;
}

void Graph::fail(Status status) {
  if (status.ok() || !status_.ok()) return;
  if (body_ != nullptr) body_->outer().fail(status);
  status_ = std::move(status);
}

// --- scopes ----------------------------------------------------------------------------------------------------------

struct Graph::Scope::State {
  std::string name_prefix, device;
  Name colocated_with;
  std::vector<NodeId> control_scope;
};

Graph::Scope::Scope(Graph* graph, std::unique_ptr<State> undo) : graph_(graph), undo_(std::move(undo)) {
  undo_->name_prefix = graph->name_prefix_;
  undo_->device = graph->device_;
  undo_->colocated_with = graph->colocation_;
  undo_->control_scope = graph->control_scope_;
}

Graph::Scope::Scope(Scope&& other) noexcept
    : graph_(std::exchange(other.graph_, nullptr)), undo_(std::move(other.undo_)) {}

Graph::Scope::~Scope() {
  if (graph_ == nullptr) return;
  graph_->name_prefix_ = std::move(undo_->name_prefix);
  graph_->device_ = std::move(undo_->device);
  graph_->colocation_ = undo_->colocated_with;
  graph_->control_scope_ = std::move(undo_->control_scope);
}

Graph::Scope Graph::device(std::string_view device) {
  if (inner_ != nullptr) return inner_->device(device);
  Scope scope(this, std::make_unique<Scope::State>());
  // The parts an inner scope leaves open come from the outer one; the placer merges "outer;inner" part by part.
  if (device.empty()) {
    device_.clear();
  } else {
    device_ = device_.empty() ? std::string(device) : str_cat(device_, ";", device);
  }
  return scope;
}

Graph::Scope Graph::name_scope(std::string_view name) {
  if (inner_ != nullptr) return inner_->name_scope(name);
  Scope scope(this, std::make_unique<Scope::State>());
  if (name.empty()) {
    name_prefix_.clear();
  } else if (name.ends_with('/')) {
    name_prefix_ = name;
  } else {
    name_prefix_ = unique_name(name_prefix_ + std::string(name)) + "/";
  }
  return scope;
}

Graph::Scope Graph::control_dependencies(const std::vector<Value>& values) {
  if (inner_ != nullptr) return inner_->control_dependencies(values);
  Scope scope(this, std::make_unique<Scope::State>());
  for (const Value& v : values) {
    if (!v.valid()) continue;
    const Value here = &v.graph() == this ? v : local(v.control());
    if (here.valid()) control_scope_.push_back(here.node());
  }
  return scope;
}

Graph::Scope Graph::colocate_with(const Value& value) {
  if (inner_ != nullptr) return inner_->colocate_with(value);
  Scope scope(this, std::make_unique<Scope::State>());
  // A node outside a body cannot be waited for by name inside it; who takes a handle goes where that is anyway.
  if (&value.graph() == this) colocation_ = value.node_name();
  return scope;
}

// --- names -----------------------------------------------------------------------------------------------------------

// Graphs that are only read may be asked by several threads, and one of them may be the first.
NameTable& Graph::names() const {
  const std::atomic_ref<bool> stale(names_stale_);
  if (stale.load(std::memory_order_acquire)) {
    static Mutex mutex;
    MutexLock lock(mutex);
    if (stale.load(std::memory_order_relaxed)) {
      names_.index(nodes_);
      stale.store(false, std::memory_order_release);
    }
  }
  return names_;
}

std::string Graph::unique_name(std::string_view name) { return names().unique(name, nodes_); }

std::optional<NodeId> Graph::find(std::string_view name) const { return names().find(name, nodes_); }

std::optional<NodeId> Graph::find_colocated(const Node& by, std::string_view name) const {
  for (const Endpoint e : by.inputs) {
    const Name& other = nodes_[e.node.index].name;  // mostly the very text: it need not be read
    if (other.size() == name.size() && (other.data() == name.data() || other == name)) return e.node;
  }
  return find(name);
}

Result<Endpoint> Graph::endpoint(std::string_view name) const {
  std::string_view node_name = name;
  int index = 0;
  if (name.starts_with('^')) {
    node_name.remove_prefix(1);
    index = Value::kControl;
  } else if (const std::size_t colon = name.rfind(':'); colon != std::string_view::npos) {
    const std::string digits(name.substr(colon + 1));
    node_name = name.substr(0, colon);
    index = digits.empty() || digits.size() > 6 || digits.find_first_not_of("0123456789") != std::string::npos
                ? 1 << 30
                : std::stoi(digits);
  }
  const auto id = find(node_name);
  if (!id) {
    std::vector<std::string> names;
    for (const Node& n : nodes_) names.emplace_back(n.name);
    const std::string near = nearest_word(node_name, names);
    return not_found("the graph has no node \"", node_name, "\"")
        .with_id("ARG-GRAPH-001")
        .with_hint(near.empty() ? "" : str_cat("\"", near, "\", if that was meant"));
  }
  const int outputs = static_cast<int>(node(*id).output_dtypes.size());
  if (index == 0 && outputs == 0) index = Value::kControl;
  if (index >= outputs) {
    return invalid_argument("\"", name, "\": node \"", node_name, "\" has ", outputs, " outputs")
        .with_id("ARG-GRAPH-002");
  }
  return Endpoint{*id, index};
}

Result<Value> Graph::value(std::string_view name) {
  ARGOSY_ASSIGN_OR_RETURN(const Endpoint e, endpoint(name));
  return value(e);
}

// --- adding ----------------------------------------------------------------------------------------------------------

Value Graph::add(std::string_view op, std::vector<Value> inputs, AttrMap attrs, std::string_view name) {
  if (inner_ != nullptr) return inner_->add(op, std::move(inputs), std::move(attrs), name);
  if (!status_.ok()) return {};
  auto id = try_add(op, inputs, std::move(attrs), name);
  if (!id.ok()) {
    fail(std::move(id).status().with_where(str_cat("node '", name_prefix_, name.empty() ? op : name, "' (", op, ")")));
    return {};
  }
  return Value(this, *id, nodes_[id->index].output_dtypes.empty() ? Value::kControl : 0);
}

Value Graph::local(const Value& v) {
  if (inner_ != nullptr) return inner_->local(v);
  if (!v.valid() || &v.graph() == this) return v;
  return body_ != nullptr ? body_->local(v) : Value();
}

Result<NodeId> Graph::try_add(std::string_view op, const std::vector<Value>& inputs, AttrMap attrs,
                              std::string_view name) {
  NodeSpec spec;
  std::vector<DType> dtypes;
  spec.controls = control_scope_;
  spec.inputs.reserve(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].valid()) return invalid_argument("input ", i, " is no value");
    const Value v = local(inputs[i]);
    if (!v.valid() && inputs[i].index() == Value::kControl && body_ != nullptr) continue;  // the caller waits for it
    if (!v.valid()) return invalid_argument("input ", i, " (", inputs[i].name(), ") belongs to another graph");
    if (v.index() == Value::kControl) {
      spec.controls.push_back(v.node());
    } else {
      spec.inputs.push_back(v.endpoint());
      dtypes.push_back(v.dtype());
    }
  }
  ARGOSY_ASSIGN_OR_RETURN(const OpDef* def, ops_->lookup(op));
  const bool told = attrs.find(kClass) != nullptr;
  ARGOSY_RETURN_IF_ERROR(complete_attrs(*def, dtypes, attrs));
  spec.op = op;
  spec.attrs = std::move(attrs);
  spec.device = device_;
  spec.name = unique_name(name_prefix_ + std::string(name.empty() ? op : name));
  ARGOSY_ASSIGN_OR_RETURN(const NodeId added, add_node(std::move(spec)));
  if (!told) set_colocation(added, colocation_);
  return added;
}

Result<NodeId> Graph::add_node(NodeSpec spec) {
  ARGOSY_ASSIGN_OR_RETURN(const OpDef* def, ops_->lookup(spec.op));
  Node node;
  node.op = def;
  node.name = pool_->add(spec.name);
  node.attrs = std::move(spec.attrs);
  node.colocated_with = take_colocation(node.attrs);
  node.inputs = spec.inputs;
  node.controls = spec.controls;
  node.device = device_name(spec.device);
  std::sort(node.controls.begin(), node.controls.end());
  node.controls.erase(std::unique(node.controls.begin(), node.controls.end()), node.controls.end());
  std::vector<bool> refs;
  ARGOSY_ASSIGN_OR_RETURN(node.output_dtypes, arg_dtypes(def->output_args, node.attrs, &refs));
  if (std::find(refs.begin(), refs.end(), true) != refs.end()) node.output_refs.assign(refs.begin(), refs.end());
  node.attrs = attr_pool_.shared(def, std::move(node.attrs));

  if (def->has_ref_input()) {
    std::vector<bool> input_refs;
    ARGOSY_ASSIGN_OR_RETURN(const auto dtypes, arg_dtypes(def->input_args, node.attrs, &input_refs));
    for (std::size_t i = 0; i < node.inputs.size() && i < dtypes.size(); ++i) {
      const Endpoint from = node.inputs[i];
      if (input_refs[i] && !nodes_[from.node.index].output_is_ref(from.index)) {
        return invalid_argument(def->name, ": input ", i, " must be a variable, not the value '",
                                nodes_[from.node.index].name, "'");
      }
    }
  }
  const bool inferring = spec.shapes.empty();
  if (!inferring) {
    node.output_shapes = spec.shapes;
    node.output_shapes.resize(node.output_dtypes.size());
  }
  NameTable& names = this->names();
  nodes_.push_back(std::move(node));
  if (!names.add_last(nodes_)) {
    const Name name = nodes_.back().name;
    nodes_.pop_back();
    return already_exists("there is a node \"", name, "\" already").with_id("ARG-GRAPH-003");
  }
  if (Status settled = settle_last(inferring); !settled.ok()) {
    names.take_from_last(nodes_);
    nodes_.pop_back();
    return settled;
  }
  return NodeId{size() - 1};
}

void Graph::note(std::int32_t node) {
  const Node& n = nodes_[node];
  if (n.op != last_met_) {
    last_met_ = n.op;
    ops_met_.insert(n.op);
  }
  if (!n.device.empty()) asks_for_devices_ = true;
  for (const Endpoint e : n.inputs) note_edge(node, e.node);
  for (const NodeId c : n.controls) note_wait(node, c);
}

Status Graph::settle_last(bool inferring) {
  note(size() - 1);
  first_fact_.push_back(-1);
  Status inferred = inferring ? infer(NodeId{size() - 1}) : ok_status();
  if (!inferred.ok()) first_fact_.pop_back();
  return inferred;
}

void Graph::reserve(std::size_t nodes) {
  nodes_.reserve(nodes);
  reserve_large(first_fact_, nodes);
}

Name Graph::device_name(std::string_view device) {
  if (device.empty()) return {};
  const auto known = std::find(devices_.begin(), devices_.end(), device);
  return known != devices_.end() ? *known : devices_.emplace_back(pool_->add(device));
}

Name Graph::take_colocation(AttrMap& attrs) {
  const auto* classes = attrs.find_as<std::vector<std::string>>(kClass);
  if (classes == nullptr) return {};
  std::string names;
  std::vector<std::string> others;
  for (const std::string& c : *classes) {
    if (!c.starts_with(kColocationPrefix) || c.size() == kColocationPrefix.size() || c.find(' ') != std::string::npos) {
      others.push_back(c);
    } else {
      names += str_cat(names.empty() ? "" : " ", std::string_view(c).substr(kColocationPrefix.size()));
    }
  }
  if (names.empty()) return {};
  if (others.empty()) {
    attrs.erase(kClass);
  } else {
    attrs.set(kClass, std::move(others));
  }
  if (last_colocation_ != names) {
    const auto node = find(names);
    last_colocation_ = node ? nodes_[node->index].name : pool_->add(names);
  }
  return last_colocation_;
}

void Graph::set_device(NodeId node, std::string_view device) {
  nodes_[node.index].device = device_name(device);
  note(node.index);
}

Result<NodeId> Graph::add_copy(const Graph& from, NodeId id, std::span<const Endpoint> inputs,
                               std::span<const NodeId> controls, bool keep_shapes) {
  pool_->retain(from.pool_);  // names stay where they are
  const Node& old = from.node(id);
  Node node{.name = old.name,
            .op = old.op,
            .attrs = old.attrs,
            .inputs = {inputs.begin(), inputs.end()},
            .controls = {controls.begin(), controls.end()},
            .output_dtypes = old.output_dtypes,
            .output_refs = old.output_refs,
            .device = old.device,
            .colocated_with = old.colocated_with,
            .output_shapes = {}};
  std::sort(node.controls.begin(), node.controls.end());
  if (keep_shapes) node.output_shapes = old.output_shapes;
  nodes_.push_back(std::move(node));
  if (Status settled = settle_last(!keep_shapes); !settled.ok()) {
    first_fact_.push_back(-1);
    settled = defer_shape_error(*this, NodeId{size() - 1}, std::move(settled));
    if (!settled.ok()) {
      first_fact_.pop_back();
      nodes_.pop_back();
      return settled;
    }
    nodes_.back().output_refs.clear();
  }
  names_stale_ = true;
  return NodeId{size() - 1};
}

std::string Graph::new_function_name(std::string_view base) {
  const std::string name = function_prefix_ + std::string(base);
  int& count = function_counts_[name];
  std::string candidate;
  do {
    candidate = count == 0 ? name : str_cat(name, "_", count);
    ++count;
  } while (functions_.contains(candidate));
  return candidate;
}

void Graph::add_function(std::shared_ptr<const Function> function) { functions_[function->name] = std::move(function); }
const Function* Graph::function(std::string_view name) const {
  const auto found = functions_.find(name);
  return found == functions_.end() ? nullptr : found->second.get();
}

}  // namespace argosy
