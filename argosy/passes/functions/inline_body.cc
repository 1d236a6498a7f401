#include "argosy/passes/functions/inline_body.h"

#include <algorithm>
#include <map>

#include "argosy/base/threads/interrupt.h"
#include "argosy/graph/function_body.h"
#include "argosy/graph/makes_handle.h"
#include "argosy/graph/shape_error.h"
#include "argosy/passes/functions/lower_functions.h"

namespace argosy::lowering {

namespace {

std::vector<char> needed_nodes(const Function& f) {
  std::vector<char> needed(static_cast<std::size_t>(f.body.size()), 0);
  std::vector<NodeId> stack;
  const auto need = [&](NodeId id) {
    if (!needed[id.index]) {
      needed[id.index] = 1;
      stack.push_back(id);
    }
  };
  for (const Endpoint e : f.returns) need(e.node);
  for (const NodeId id : f.control_returns) need(id);
  while (!stack.empty()) {
    const Node& n = f.body.node(stack.back());
    stack.pop_back();
    for (const Endpoint e : n.inputs) need(e.node);
    for (const NodeId c : n.controls) need(c);
  }
  return needed;
}

// In TensorFlow's words.
std::string dtype_mismatch(std::string_view what, std::size_t index, DType is, std::string_view wanted, DType dtype) {
  return str_cat(what, index, " of type ", dtype_name(is), " does not match ", wanted, " ", dtype_name(dtype));
}

Status check_returns(const Function& f, std::span<const DType> wanted) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const DType given = f.body.dtype(f.returns[i]);
    if (wanted[i] == DType::kInvalid || given == wanted[i]) continue;
    return invalid_argument("function \"", f.name,
                            "\": ", dtype_mismatch("Output ", i, given, "declared output type", wanted[i]))
        .with_id("ARG-FN-006")
        .with_hint("declare what the function returns, or cast in the function");
  }
  return ok_status();
}

std::string joined_device(const std::string& caller, const std::string& node) {
  if (caller.empty() || node.empty()) return caller.empty() ? node : caller;
  return str_cat(caller, ";", node);
}

}  // namespace

void Inliner::begin(NodeId caller, int depth) {
  caller_ = caller;
  caller_name_ = graph_.node(caller).name;
  caller_device_ = graph_.node(caller).device;
  depth_ = depth;
}

void Inliner::move_to(const std::string& device) { caller_device_ = joined_device(caller_device_, device); }

Status Inliner::count() {
  constexpr std::int64_t kTogether = 4096, kBytesOfNode = 2048;
  check_interrupted();
  if (++added_ > options_.max_nodes) {
    return resource_exhausted("the functions called grow the graph by more than ", options_.max_nodes, " nodes")
        .with_id("ARG-FN-007")
        .with_hint("loops (While) in place of functions that call each other again and again");
  }
  if (added_ % kTogether != 0) return ok_status();
  ARGOSY_ASSIGN_OR_RETURN(auto reserved, host_budget().reserve(HostUse::kFunctions, kTogether * kBytesOfNode,
                                                               str_cat("putting functions in place of their callers, ",
                                                                       added_, " nodes so far, which")));
  reserved_.push_back(std::move(reserved));
  return ok_status();
}

Result<NodeId> Inliner::add(std::string_view op, std::vector<Endpoint> inputs, AttrMap attrs, std::string_view name,
                            std::vector<NodeId> controls, std::vector<PartialShape> shapes) {
  ARGOSY_RETURN_IF_ERROR(count());
  ARGOSY_ASSIGN_OR_RETURN(const OpDef* const def, graph_.ops().lookup(op));
  std::vector<DType> dtypes;
  for (const Endpoint e : inputs) dtypes.push_back(graph_.dtype(e));
  // The head of a loop has an input that is yet to come.
  const std::int64_t n = attrs.get_or("N", static_cast<std::int64_t>(dtypes.size()));
  if (def->flow == Flow::kMerge) dtypes.resize(static_cast<std::size_t>(n), dtypes[0]);
  ARGOSY_RETURN_IF_ERROR(complete_attrs(*def, dtypes, attrs));
  return graph_.add_node({.name = graph_.unique_name(str_cat(caller_name_, "/", name)),
                          .op = std::string(op),
                          .inputs = std::move(inputs),
                          .controls = std::move(controls),
                          .attrs = std::move(attrs),
                          .device = caller_device_,
                          .shapes = std::move(shapes)});
}

Result<Endpoint> Inliner::constant(Tensor value) {
  const DType dtype = value.dtype();
  ARGOSY_ASSIGN_OR_RETURN(const NodeId id, add("Const", {}, {{"value", std::move(value)}, {"dtype", dtype}}, "const"));
  return Endpoint{id, 0};
}

bool Inliner::is_free(const Graph& graph, NodeId id) {
  const Node& n = graph.node(id);
  if (!n.controls.empty() || !n.inputs.empty()) return false;
  return graph.constant({id, 0}) != nullptr || makes_handle(n);
}

Result<NodeId> Inliner::gate_of(const Node& caller) {
  for (const Endpoint e : caller.inputs) {
    if (always_alive(e)) continue;
    // A Switch runs whichever output is dead: a control edge from it is live.
    if (graph_.node(e.node).op->flow != Flow::kSwitch) return e.node;
    return add("Identity", {e}, {}, "gate");
  }
  return NodeId{};
}

Result<Endpoint> Inliner::gated(Endpoint x) {
  const Node& caller = graph_.node(caller_);
  std::vector<NodeId> controls = caller.controls;
  if (always_alive(x)) {
    ARGOSY_ASSIGN_OR_RETURN(const NodeId gate, gate_of(Node(caller)));
    if (gate.index >= 0) controls.push_back(gate);
  }
  if (controls.empty()) return x;
  ARGOSY_ASSIGN_OR_RETURN(const NodeId late, add("Identity", {x}, {}, "in", std::move(controls)));
  return Endpoint{late, 0};
}

// Copies the nodes of one body, in topological order.
class Inliner::BodyCopier {
 public:
  // As Inliner::inline_function(). `prefix`: of the names of the copies.
  BodyCopier(Inliner& in, const Function& function, NodeId pivot, std::string prefix)
      : in_(in),
        function_(function),
        pivot_(pivot),
        prefix_(std::move(prefix)),
        copies_(static_cast<std::size_t>(function.body.size())),
        guarded_(copies_.size(), 0),
        is_parameter_(copies_.size(), 0) {
    for (const NodeId parameter : function.args) is_parameter_[parameter.index] = 1;
  }

  // Before the first copy: what stands for the parameters.
  Status set_arguments(const std::vector<Endpoint>& args) {
    for (std::size_t i = 0; i < args.size(); ++i) {
      const NodeId parameter = function_.args[i];
      const DType wanted = function_.body.dtype({parameter, 0}), given = in_.graph_.dtype(args[i]);
      if (given != wanted) {
        return invalid_argument("function \"", function_.name, "\" takes ", dtype_name(wanted), " at position ", i,
                                ", not ", dtype_name(given), ". ",
                                dtype_mismatch("Input ", i, given, "expected type", wanted))
            .with_id("ARG-FN-006")
            .with_hint("pass a value of that dtype");
      }
      copies_[parameter.index] = args[i];
      guarded_[parameter.index] = !in_.always_alive(args[i]);
    }
    return ok_status();
  }

  // All nodes that the function needs, and the edges that close its loops.
  Status copy() {
    const std::vector<char> needed = needed_nodes(function_);
    ARGOSY_ASSIGN_OR_RETURN(const auto order, function_.body.topological_order());
    for (const NodeId id : order) {
      if (needed[id.index] && !is_copied(id)) ARGOSY_RETURN_IF_ERROR(copy_node(id));
    }
    for (const auto& [merge, from] : open_) in_.graph_.add_input(merge, {copies_[from.node.index].node, from.index});
    return ok_status();
  }

  // Returns the endpoint in the caller's graph that stands for an endpoint of the body.
  Endpoint copy_of(Endpoint e) const {
    // A parameter stands for one endpoint, a node for all of its own.
    const Endpoint copy = copies_[e.node.index];
    return is_parameter(e.node) ? copy : Endpoint{copy.node, e.index};
  }
  // Whether the copy is dead where the caller is.
  bool is_guarded(NodeId id) const { return guarded_[id.index] != 0; }

 private:
  bool is_parameter(NodeId id) const { return is_parameter_[id.index] != 0; }
  bool is_copied(NodeId id) const { return copies_[id.index].node.index >= 0; }

  Status copy_node(NodeId id) {
    ARGOSY_RETURN_IF_ERROR(in_.count());
    const Node& n = function_.body.node(id);
    NodeSpec spec{.name = in_.graph_.unique_name(str_cat(prefix_, n.name)),
                  .op = n.op->name,
                  .attrs = n.attributes(),
                  .device = joined_device(in_.caller_device_, n.device)};
    bool alive_only = true;  // does it depend on nothing that could be dead?
    std::vector<Endpoint> back_edges;
    for (const Endpoint e : n.inputs) {
      if (!is_copied(e.node)) {  // from a NextIteration further on
        back_edges.push_back(e);
        continue;
      }
      spec.inputs.push_back(copy_of(e));
      alive_only = alive_only && !is_guarded(e.node);
    }
    for (const NodeId c : n.controls) {
      if (!is_copied(c)) continue;
      ARGOSY_ASSIGN_OR_RETURN(const NodeId wait, is_parameter(c) ? argument_wait(c) : copies_[c.index].node);
      if (wait.index >= 0) spec.controls.push_back(wait);
      alive_only = alive_only && !is_guarded(c);
    }
    const bool free = is_free(function_.body, id);
    if (alive_only && !free && pivot_.index >= 0) spec.controls.push_back(pivot_);
    guarded_[id.index] = !free && (!alive_only || pivot_.index >= 0);
    rename_classes(spec.attrs);
    if (!back_edges.empty()) spec.shapes = n.output_shapes;
    auto added = add_copy(spec);
    if (!added.ok()) {
      return std::move(added).status().with_where(str_cat("node '", prefix_, n.name, "' (", n.op->name, ")"));
    }
    copies_[id.index] = {*added, 0};
    for (const Endpoint e : back_edges) open_.emplace_back(*added, e);
    if (n.op->calls != Calls::kNothing) in_.to_lower.emplace_back(*added, in_.depth_ + 1);
    return ok_status();
  }

  // Returns the node to wait for in place of a parameter. Index -1: the argument is available before the step.
  Result<NodeId> argument_wait(NodeId parameter) {
    const Endpoint arg = copies_[parameter.index];
    if (is_free(in_.graph_, arg.node)) return NodeId{};
    // A Switch runs whichever output is dead.
    if (in_.graph_.node(arg.node).op->flow != Flow::kSwitch) return arg.node;
    const auto [wait, is_new] = argument_waits_.try_emplace(parameter);
    if (is_new) {
      ARGOSY_ASSIGN_OR_RETURN(wait->second, in_.add("Identity", {arg}, {}, "given"));
    }
    return wait->second;
  }

  // Shapes that do not fit together are an error of steps that get there: the branch may not be taken, the value not
  // read.
  Result<NodeId> add_copy(NodeSpec& spec) {
    Graph& graph = in_.graph_;
    auto added = graph.add_node(NodeSpec(spec));
    if (added.ok() || !spec.shapes.empty()) return added;
    spec.shapes.resize(1);  // not inferred
    ARGOSY_ASSIGN_OR_RETURN(const NodeId id, graph.add_node(std::move(spec)));
    ARGOSY_RETURN_IF_ERROR(defer_shape_error(graph, id, std::move(added).status(), true));
    return id;
  }

  // Colocation with nodes of the body is colocation with their copies. TensorFlow knows none with arguments.
  void rename_classes(AttrMap& attrs) const {
    const auto* const classes = attrs.find_as<std::vector<std::string>>("_class");
    if (classes == nullptr) return;
    std::vector<std::string> renamed;
    for (const std::string& c : *classes) {
      const auto other = c.starts_with("loc:@") ? function_.body.find(c.substr(5)) : std::nullopt;
      if (!other) {
        renamed.push_back(c);
      } else if (is_copied(*other) && !is_parameter(*other)) {
        renamed.push_back(str_cat("loc:@", in_.graph_.node(copies_[other->index].node).name));
      }
    }
    if (renamed.empty()) {
      attrs.erase("_class");
    } else {
      attrs.set("_class", std::move(renamed));
    }
  }

  Inliner& in_;
  const Function& function_;
  const NodeId pivot_;
  const std::string prefix_;
  std::vector<Endpoint> copies_;                   // by node of the body; a parameter's is its argument
  std::vector<char> guarded_, is_parameter_;       // by node of the body
  std::map<NodeId, NodeId> argument_waits_;        // by parameter
  std::vector<std::pair<NodeId, Endpoint>> open_;  // copies with an edge that closes a loop: an endpoint of the body
};

Result<Body> Inliner::inline_function(const std::string& function, const std::vector<Endpoint>& args,
                                      std::span<const DType> outputs, NodeId pivot, std::string_view label,
                                      bool guard_returns) {
  if (depth_ >= options_.max_depth) {
    return invalid_argument("functions call each other more than ", depth_, " deep, \"", function, "\" among them")
        .with_id("ARG-FN-008");
  }
  ARGOSY_ASSIGN_OR_RETURN(const Function* const f, find_function(graph_, function, args.size(), outputs.size()));
  ARGOSY_RETURN_IF_ERROR(check_returns(*f, outputs));
  BodyCopier copier(*this, *f, pivot, label.empty() ? caller_name_ + "/" : str_cat(caller_name_, "/", label, "/"));
  ARGOSY_RETURN_IF_ERROR(copier.set_arguments(args));
  ARGOSY_RETURN_IF_ERROR(copier.copy());
  Body put;
  for (const Endpoint e : f->returns) {
    Endpoint there = copier.copy_of(e);
    if (guard_returns && !copier.is_guarded(e.node) && pivot.index >= 0) {
      ARGOSY_ASSIGN_OR_RETURN(const NodeId late, add("Identity", {there}, {}, "value", {pivot}));
      there = {late, 0};
    }
    put.returns.push_back(there);
  }
  for (const NodeId id : f->control_returns) put.effects.push_back(copier.copy_of({id, 0}).node);
  return put;
}

}  // namespace argosy::lowering
