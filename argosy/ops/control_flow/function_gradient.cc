// The gradient of a function body. Forward values that the backward pass needs are computed again, which costs time but
// no memory. Those that would differ the second time (random numbers, reads of variables) are returned by the forward
// pass.
#include <algorithm>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/control_flow/function_differentiation.h"

namespace argosy {

namespace {

bool gives_handle(const Node& n) {
  return n.output_dtypes.size() == 1 && (n.output_is_ref(0) || n.output_dtypes[0] == DType::kResource);
}

// By the dtype alone: true for every handle and list, since they carry the gradients of what they refer to.
// carries_gradient() also asks what a handle refers to.
bool may_carry_gradient(DType d) {
  return is_floating(d) || is_complex(d) || d == DType::kResource || d == DType::kVariant;
}

// True if a second run of the node could give another value, or has an effect.
bool unrepeatable(const Graph& graph, const Node& n) {
  if (n.op->name == "_Arg") return false;
  if (has_effect(n)) return true;
  const bool reads_reference = std::any_of(n.inputs.begin(), n.inputs.end(),
                                           [&](Endpoint e) { return graph.node(e.node).output_is_ref(e.index); });
  // The value of a variable may have changed meanwhile. A node that passes the reference or a handle on reads no value.
  if (reads_reference) return n.output_refs.empty() && !gives_handle(n);
  // Another stateful node, such as a random one, could give another value. One without inputs that gives a handle gives
  // the same handle again.
  return n.op->stateful && !(n.inputs.empty() && gives_handle(n));
}

Result<Value> add_parameter(Graph& body, DType dtype, const PartialShape& shape, std::size_t index,
                            std::string_view name, const HandleFact* refers_to = nullptr) {
  AttrMap attrs = {{"T", dtype}, {"index", index}, {"shape", shape}};
  if (refers_to != nullptr) {
    attrs.set("_handle_dtype", refers_to->dtype);
    attrs.set("_handle_shape", refers_to->shape);
  }
  const Value arg = body.add("_Arg", {}, std::move(attrs), name);
  ARGOSY_RETURN_IF_ERROR(body.status());
  return arg;
}

// Returns the outputs of unrepeatable forward nodes that the roots need. The search goes back to such nodes and no
// further.
std::vector<Endpoint> to_save(const Graph& body, int forward_size, const std::vector<Endpoint>& roots) {
  std::vector<Endpoint> saved;
  std::vector<char> seen(static_cast<std::size_t>(body.size()), 0);
  std::vector<NodeId> stack;
  const auto visit = [&](Endpoint e) {
    const bool keep = e.node.index < forward_size && unrepeatable(body, body.node(e.node));
    if (keep && e.index >= 0) {
      if (std::find(saved.begin(), saved.end(), e) == saved.end()) saved.push_back(e);
    } else if (!keep && !seen[e.node.index]) {
      seen[e.node.index] = 1;
      stack.push_back(e.node);
    }
  };
  for (const Endpoint e : roots) {
    if (e.node.index >= 0) visit(e);
  }
  while (!stack.empty()) {
    const Node& n = body.node(stack.back());
    stack.pop_back();
    for (const Endpoint e : n.inputs) visit(e);
    for (const NodeId c : n.controls) visit({c, Value::kControl});
  }
  return saved;
}

// Removes from the backward pass the control inputs from forward nodes that are not run again. The forward pass has run
// them before, so there is nothing to wait for.
void forget_controls(Graph& body, int forward_size) {
  for (std::int32_t i = 0; i < body.size(); ++i) {
    const std::vector<NodeId> controls = body.node({i}).controls;
    for (const NodeId c : controls) {
      if (c.index < forward_size && unrepeatable(body, body.node(c))) body.remove_control_input({i}, c);
    }
  }
}

}  // namespace

bool carries_gradient(const Value& v) {
  const DType d = v.dtype();
  if (is_floating(d) || is_complex(d)) return true;
  if (!may_carry_gradient(d)) return false;
  const HandleFact* fact = v.graph().handle(v.endpoint());
  // zero_gradient() makes zeros of a list without the dtype of its elements, but not of a variable without its dtype.
  if (fact == nullptr) return d == DType::kVariant;
  return is_floating(fact->dtype) || is_complex(fact->dtype);
}

Value zero_gradient(const Value& x) {
  Graph& graph = x.graph().current();
  if (x.dtype() != DType::kResource) return graph.add("ZerosLike", {x});
  const DType dtype = x.graph().handle(x.endpoint())->dtype;  // there is one: carries_gradient(x)
  return graph.add("Fill", {graph.add("VariableShape", {x}), constant(graph, Tensor::zeros(dtype, {}))});
}

std::vector<bool> reached_returns(const Function& function, const std::vector<bool>& parameters) {
  const Graph& body = function.body;
  std::vector<char> reached(static_cast<std::size_t>(body.size()), 0);
  for (std::size_t i = 0; i < parameters.size(); ++i) reached[function.args[i].index] = parameters[i] ? 1 : 0;
  const auto order = body.topological_order();
  if (!order.ok()) return std::vector<bool>(function.returns.size(), true);
  const auto flows = [&](Endpoint e) { return reached[e.node.index] && may_carry_gradient(body.dtype(e)); };
  for (const NodeId id : *order) {
    const auto& inputs = body.node(id).inputs;
    if (std::any_of(inputs.begin(), inputs.end(), flows)) reached[id.index] = 1;
  }
  std::vector<bool> returns;
  for (const Endpoint e : function.returns) returns.push_back(flows(e));
  return returns;
}

Status in_caller(const GradContext& g, const Status& error) {
  Status told(error.code(),
              str_cat(error.message(), "; the function is that of node '", g.node().name, "' on the path  ", g.path()));
  return std::move(told)
      .with_id(std::string(error.id()))
      .with_where(error.where().empty() ? str_cat("gradient of node '", g.node().name, "'") : error.where())
      .with_hint(error.hint());
}

Result<FunctionGradient> differentiate(Graph& graph, const Function& function, const GradientRequest& request) {
  FunctionGradient d{.body = function.body.clone(), .forward = Graph(graph.ops())};
  Graph& body = d.body;
  for (const auto& [name, f] : graph.functions()) body.add_function(f);
  d.forward_size = body.size();
  d.args = function.args;
  GradOptions options{.allow_unconnected = true, .source = request.source};
  std::vector<Value> ys, xs;
  for (std::size_t i = 0; i < function.returns.size(); ++i) {
    if (!request.active[i]) continue;
    const Value y = body.value(function.returns[i]);
    // The gradient of a variable's handle has the variable's dtype and shape.
    const HandleFact* fact = body.handle(function.returns[i]);
    const bool variable = y.dtype() == DType::kResource;
    if (variable && fact == nullptr) {
      return internal_error("function ", function.name, ": returned value ", i,
                            " is a handle, and the dtype and shape of its variable are not known");
    }
    const DType dtype = variable ? fact->dtype : y.dtype();
    const PartialShape shape = variable ? fact->shape : y.shape();
    ARGOSY_ASSIGN_OR_RETURN(const Value dy, add_parameter(body, dtype, shape, d.args.size() + ys.size(), "dy",
                                                          y.dtype() == DType::kVariant ? fact : nullptr));
    d.dy_args.push_back(dy.node());
    options.grad_ys.push_back(dy);
    ys.push_back(y);
  }
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i < d.args.size(); ++i) {
    const Value x(&body, d.args[i], 0);
    if (!request.wanted[i] || !carries_gradient(x)) continue;
    which.push_back(i);
    xs.push_back(x);
  }
  d.dxs.assign(d.args.size(), Endpoint{});
  if (ys.empty() || xs.empty()) return d;
  const std::vector<Value> dxs = gradients(body, ys, xs, options);
  ARGOSY_RETURN_IF_ERROR(body.status());
  for (std::size_t i = 0; i < which.size(); ++i) {
    if (dxs[i].valid()) d.dxs[which[i]] = dxs[i].endpoint();
  }
  for (const auto& [name, f] : body.functions()) {
    if (graph.function(name) == nullptr) graph.add_function(f);
  }
  d.saved = to_save(body, d.forward_size, d.dxs);
  d.forward = body.clone();
  forget_controls(body, d.forward_size);
  for (const Endpoint e : d.saved) {
    if (body.dtype(e) == DType::kResource || body.node(e.node).output_is_ref(e.index)) {
      return unimplemented("the gradient of function ", function.name, " needs the handle that '",
                           body.node(e.node).name, "' makes")
          .with_id("ARG-GRAD-004");
    }
    ARGOSY_ASSIGN_OR_RETURN(
        const Value arg, add_parameter(body, body.dtype(e), body.shape(e), d.args.size() + d.saved_args.size(), "saved",
                                       body.handle(e)));
    d.saved_args.push_back(arg.node());
    for (std::int32_t i = 0; i < body.size(); ++i) {
      const int inputs = static_cast<int>(body.node({i}).inputs.size());
      for (int k = 0; k < inputs; ++k) {
        if (body.node({i}).inputs[k] == e) body.set_input({i}, k, arg.endpoint());
      }
    }
    for (Endpoint& dx : d.dxs) {
      if (dx == e) dx = arg.endpoint();
    }
  }
  return d;
}

}  // namespace argosy
