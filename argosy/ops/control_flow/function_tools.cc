#include <algorithm>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/control_flow/function_differentiation.h"

namespace argosy {

namespace {

// Nodes reachable backwards from `roots`, not beyond `stops`.
std::vector<char> needed_nodes(const Graph& graph, std::span<const Endpoint> roots, std::span<const NodeId> stops) {
  std::vector<char> needed(static_cast<std::size_t>(graph.size()), 0);
  std::vector<char> stop(needed.size(), 0);
  for (const NodeId id : stops) stop[id.index] = 1;
  std::vector<NodeId> stack;
  const auto need = [&](NodeId id) {
    if (!needed[id.index]) {
      needed[id.index] = 1;
      if (!stop[id.index]) stack.push_back(id);
    }
  };
  for (const Endpoint e : roots) need(e.node);
  while (!stack.empty()) {
    const Node& n = graph.node(stack.back());
    stack.pop_back();
    for (const Endpoint e : n.inputs) need(e.node);
    for (const NodeId c : n.controls) need(c);
  }
  return needed;
}

Status primitive_loop(const Node& n) {
  return unimplemented("node '", n.name, "' (", n.op->name, ") closes a loop inside a function that must be copied")
      .with_id("ARG-FN-004")
      .with_hint("write the loop with while_loop()");
}

// A name in "loc:@" that belongs to the body means the copy.
void rename_colocation(AttrMap& attrs, const Graph& body, const std::vector<Value>& copies) {
  const auto* classes = attrs.find_as<std::vector<std::string>>("_class");
  if (classes == nullptr) return;
  std::vector<std::string> renamed;
  for (const std::string& c : *classes) {
    const auto id = c.starts_with("loc:@") ? body.find(c.substr(5)) : std::nullopt;
    if (!id) {
      renamed.push_back(c);
    } else if (copies[id->index].valid()) {
      renamed.push_back(str_cat("loc:@", copies[id->index].node_name()));
    }
  }
  if (renamed.empty()) {
    attrs.erase("_class");
  } else {
    attrs.set("_class", std::move(renamed));
  }
}

}  // namespace

std::vector<Value> instantiate(Graph& given, const Graph& body, std::span<const NodeId> parameters,
                               std::span<const Value> arguments, std::span<const Endpoint> roots) {
  Graph& graph = given.current();
  std::vector<Value> none(roots.size());
  const std::vector<char> needed = needed_nodes(body, roots, parameters);
  const auto order = body.topological_order();
  if (!order.ok()) return graph.fail(order.status()), none;
  std::vector<Value> copies(needed.size());  // output 0, or the control value
  std::vector<char> is_parameter(needed.size(), 0);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    copies[parameters[i].index] = arguments[i];
    is_parameter[parameters[i].index] = 1;
  }
  const auto copy_of = [&](Endpoint e) {
    return is_parameter[e.node.index] ? copies[e.node.index] : copies[e.node.index].output(e.index);
  };
  for (const NodeId id : *order) {
    if (!needed[id.index] || is_parameter[id.index]) continue;
    const Node& n = body.node(id);
    if (n.op->closes_loop) return graph.fail(primitive_loop(n)), none;
    std::vector<Value> inputs;
    for (const Endpoint e : n.inputs) inputs.push_back(copy_of(e));
    for (const NodeId c : n.controls) {
      if (!is_parameter[c.index]) inputs.push_back(copies[c.index].control());
    }
    AttrMap attrs = n.attributes();
    rename_colocation(attrs, body, copies);
    std::vector<Graph::Scope> on;
    if (!n.device.empty()) on.push_back(graph.device(n.device));
    copies[id.index] = graph.add(n.op->name, std::move(inputs), std::move(attrs), n.name);
    if (!graph.status().ok()) return none;
  }
  std::vector<Value> found;
  for (const Endpoint e : roots) found.push_back(copy_of(e));
  return found;
}

Result<std::string> add_function_of(Graph& graph, const Graph& body, const FunctionPlan& plan, std::string_view name) {
  auto function =
      std::make_shared<Function>(Function{.name = graph.new_function_name(name), .body = Graph(body.ops())});
  std::vector<Endpoint> roots = plan.returns;
  for (const NodeId id : plan.control_returns) roots.push_back({id, Value::kControl});
  for (const NodeId id : plan.args) roots.push_back({id, 0});
  const std::vector<char> needed = needed_nodes(body, roots, plan.args);
  ARGOSY_ASSIGN_OR_RETURN(const auto order, body.topological_order());
  std::vector<NodeId> copies(needed.size());
  for (const NodeId id : order) {
    if (!needed[id.index]) continue;
    const Node& n = body.node(id);
    if (n.op->closes_loop) return primitive_loop(n);
    NodeSpec spec{.name = n.name, .op = n.op->name, .attrs = n.attributes(), .device = n.device};
    for (const Endpoint e : n.inputs) spec.inputs.push_back({copies[e.node.index], e.index});
    for (const NodeId c : n.controls) spec.controls.push_back(copies[c.index]);
    ARGOSY_ASSIGN_OR_RETURN(copies[id.index], function->body.add_node(std::move(spec)));
  }
  for (const NodeId id : plan.args) {
    function->body.set_attr(copies[id.index], "index", static_cast<std::int64_t>(function->args.size()));
    function->args.push_back(copies[id.index]);
  }
  for (const Endpoint e : plan.returns) function->returns.push_back({copies[e.node.index], e.index});
  for (const NodeId id : plan.control_returns) function->control_returns.push_back(copies[id.index]);
  std::string made = function->name;
  graph.add_function(std::move(function));
  return made;
}

bool is_stateful(const Function& function) {
  const auto& nodes = function.body.nodes();
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const Node& n) { return n.op->has_ref_input() || (n.op->stateful && n.op->name != "_Arg"); });
}

}  // namespace argosy
