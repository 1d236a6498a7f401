// The gradient of a loop: a loop backwards over the same iterations.
//
//   forward    i=0, list=[]   each iteration: list += [values the backward pass needs]; i += 1
//   backward   from i down:   values = pop(list); dvalues = gradient of the body (values, dvalues)
//
// The forward loop itself gets the counter and the lists as further values. What an iteration leaves as it is (captured
// values above all) needs no list: it is the same in all of them, and its gradient adds up over the iterations.
#include <algorithm>
#include <functional>
#include <utility>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/control_flow/function_differentiation.h"
#include "argosy/ops/control_flow/functional.h"

namespace argosy {

namespace {

// Returns which parameters of the body the backward pass needs.
std::vector<bool> needed_args(const FunctionGradient& d) {
  std::vector<char> seen(static_cast<std::size_t>(d.body.size()), 0);
  std::vector<NodeId> stack;
  const auto visit = [&](NodeId id) {
    if (id.index >= 0 && !seen[id.index]) {
      seen[id.index] = 1;
      stack.push_back(id);
    }
  };
  for (const Endpoint e : d.dxs) visit(e.node);
  while (!stack.empty()) {
    const Node& n = d.body.node(stack.back());
    stack.pop_back();
    for (const Endpoint e : n.inputs) visit(e.node);
    for (const NodeId c : n.controls) visit(c);
  }
  std::vector<bool> needed;
  for (const NodeId id : d.args) needed.push_back(seen[id.index] != 0);
  return needed;
}

// An element's shape as TensorList ops take it: -1 for what is not known.
Value element_shape(Graph& graph, const PartialShape& shape) {
  if (!shape.has_rank()) return constant(graph, std::int32_t{-1});
  std::vector<std::int32_t> sizes;
  for (const std::int64_t size : shape.sizes()) sizes.push_back(static_cast<std::int32_t>(size));
  return constant(graph, Tensor::vector(sizes));
}

// The forward loop, as the backward one needs it: with a counter of iterations, and a list for each value that an
// iteration saves.
class ForwardLoop {
 public:
  // All arguments must outlive this object.
  ForwardLoop(GradContext& g, const Node& node, const Function& body, const Function& cond)
      : g_(g), graph_(g.graph()), node_(node), body_(body), cond_(cond) {}

  // Adds the counter and the lists to the loop. invariant(i): true if an iteration leaves value i unchanged.
  Status save(FunctionGradient& d, const std::function<bool(std::size_t)>& invariant) {
    const std::vector<bool> needed = needed_args(d);
    for (std::size_t i = 0; i < needed.size(); ++i) {
      if (needed[i] && !invariant(i)) args_.push_back(i);
    }
    std::vector<Endpoint> values;
    for (const std::size_t i : args_) values.push_back({d.args[i], 0});
    values.insert(values.end(), d.saved.begin(), d.saved.end());

    Graph body = std::move(d.forward);
    Graph test = cond_.body.clone();
    FunctionPlan body_plan{body_.args, body_.returns, body_.control_returns};
    FunctionPlan test_plan{cond_.args, cond_.returns, cond_.control_returns};
    std::vector<DType> dtypes;
    std::vector<PartialShape> shapes;
    const auto one_more = [&](const Value& initial, const HandleFact* refers_to) {
      AttrMap attrs = {{"T", initial.dtype()}, {"index", body_plan.args.size()}, {"shape", PartialShape::scalar()}};
      if (refers_to != nullptr) {
        attrs.set("_handle_dtype", refers_to->dtype);
        attrs.set("_handle_shape", refers_to->shape);
      }
      const Value parameter = body.add("_Arg", {}, attrs, "saved");
      if (parameter.valid()) body_plan.args.push_back(parameter.node());
      const Value unused = test.add("_Arg", {}, attrs, "saved");
      if (unused.valid()) test_plan.args.push_back(unused.node());
      graph_.add_input(g_.id(), initial.endpoint());
      dtypes.push_back(initial.dtype());
      shapes.push_back(PartialShape::scalar());
      return parameter;
    };
    ARGOSY_ASSIGN_OR_RETURN(const Value zero, constant_beside(Tensor::scalar(std::int32_t{0}), "iterations"));
    const Value counter = one_more(zero, nullptr);
    const Value next = body.add("AddV2", {counter, constant(body, std::int32_t{1})});
    ARGOSY_RETURN_IF_ERROR(body.status());
    body_plan.returns.push_back(next.endpoint());
    ARGOSY_ASSIGN_OR_RETURN(const Value any, constant_beside(Tensor::scalar(std::int32_t{-1}), "any"));
    for (const Endpoint e : values) {
      const HandleFact fact{body.dtype(e), body.shape(e)};
      shapes_.push_back(fact.shape);
      dtypes_.push_back(fact.dtype);
      ARGOSY_ASSIGN_OR_RETURN(const Value list, add_beside("EmptyTensorList", {any.endpoint(), any.endpoint()},
                                                           {{"element_dtype", fact.dtype}}, "values"));
      const Value parameter = one_more(list, &fact);
      const Value pushed = body.add("TensorListPushBack", {parameter, body.value(e)}, {{"element_dtype", fact.dtype}});
      ARGOSY_RETURN_IF_ERROR(body.status());
      body_plan.returns.push_back(pushed.endpoint());
    }
    ARGOSY_RETURN_IF_ERROR(test.status());
    ARGOSY_ASSIGN_OR_RETURN(std::string body_name, add_function_of(graph_, body, body_plan, body_.name + "_forward"));
    ARGOSY_ASSIGN_OR_RETURN(std::string test_name, add_function_of(graph_, test, test_plan, cond_.name + "_forward"));
    std::vector<DType> all_dtypes = node_.output_dtypes;
    std::vector<PartialShape> all_shapes = node_.output_shapes;
    all_dtypes.insert(all_dtypes.end(), dtypes.begin(), dtypes.end());
    all_shapes.insert(all_shapes.end(), shapes.begin(), shapes.end());
    graph_.set_attr(g_.id(), "body", FunctionRef{std::move(body_name)});
    graph_.set_attr(g_.id(), "cond", FunctionRef{std::move(test_name)});
    graph_.set_attr(g_.id(), "T", std::move(all_dtypes));
    graph_.set_attr(g_.id(), "output_shapes", std::move(all_shapes));
    graph_.add_outputs(g_.id(), dtypes, shapes);
    return ok_status();
  }

  // Parameters of the body that are saved; their lists come first, those of FunctionGradient::saved follow.
  const std::vector<std::size_t>& args() const { return args_; }
  // The shape of the elements of each list.
  const std::vector<PartialShape>& shapes() const { return shapes_; }
  const std::vector<DType>& dtypes() const { return dtypes_; }

 private:
  // Adds a node without the control dependencies in force: the loop must not wait for nodes after it.
  Result<Value> add_beside(std::string_view op, std::vector<Endpoint> inputs, AttrMap attrs, std::string_view name) {
    ARGOSY_ASSIGN_OR_RETURN(const OpDef* const def, graph_.ops().lookup(op));
    std::vector<DType> dtypes;
    for (const Endpoint e : inputs) dtypes.push_back(graph_.dtype(e));
    ARGOSY_RETURN_IF_ERROR(complete_attrs(*def, dtypes, attrs));
    ARGOSY_ASSIGN_OR_RETURN(const NodeId id,
                            graph_.add_node({.name = graph_.unique_name(str_cat(node_.name, "/", name)),
                                             .op = std::string(op),
                                             .inputs = std::move(inputs),
                                             .attrs = std::move(attrs),
                                             .device = node_.device}));
    return Value(&graph_, id, 0);
  }
  Result<Value> constant_beside(Tensor value, std::string_view name) {
    const DType dtype = value.dtype();
    return add_beside("Const", {}, {{"value", std::move(value)}, {"dtype", dtype}}, name);
  }

  GradContext& g_;
  Graph& graph_;
  const Node& node_;
  const Function& body_;
  const Function& cond_;
  std::vector<std::size_t> args_;
  std::vector<PartialShape> shapes_;
  std::vector<DType> dtypes_;
};

class LoopGradient {
 public:
  explicit LoopGradient(GradContext& g) : g_(g), graph_(g.graph()), node_(g.node()) {
    for (const Endpoint e : node_.inputs) xs_.push_back(graph_.value(e));
  }

  Result<std::vector<Value>> run() {
    const std::size_t count = xs_.size();
    ARGOSY_ASSIGN_OR_RETURN(body_, find_function(graph_, node_.attrs.get<FunctionRef>("body").name, count, count));
    ARGOSY_ASSIGN_OR_RETURN(cond_, find_function(graph_, node_.attrs.get<FunctionRef>("cond").name, count, 1));
    ARGOSY_ASSIGN_OR_RETURN(FunctionGradient d, differentiate_body());
    if (std::find(active_.begin(), active_.end(), true) == active_.end()) return std::vector<Value>(count);
    ForwardLoop forward(g_, node_, *body_, *cond_);
    ARGOSY_RETURN_IF_ERROR(forward.save(d, [&](std::size_t i) { return invariant(i); }));
    return backward(d, forward);
  }

 private:
  bool invariant(std::size_t i) const { return body_->returns[i] == Endpoint{body_->args[i], 0}; }

  // The values whose gradients are needed, and those that an iteration computes from them.
  std::vector<bool> wanted() const {
    std::vector<bool> wanted;
    for (std::size_t i = 0; i < xs_.size(); ++i) {
      wanted.push_back(g_.wants(static_cast<int>(i)) && carries_gradient(xs_[i]));
    }
    for (bool grown = true; std::exchange(grown, false);) {
      const std::vector<bool> reached = reached_returns(*body_, wanted);
      for (std::size_t i = 0; i < xs_.size(); ++i) {
        if (wanted[i] || !reached[i] || !carries_gradient(xs_[i])) continue;
        wanted[i] = true;
        grown = true;
      }
    }
    return wanted;
  }

  // A value whose gradient reaches another value's counts from then on.
  Result<FunctionGradient> differentiate_body() {
    const std::vector<bool> of = wanted();
    for (std::size_t i = 0; i < xs_.size(); ++i) active_.push_back(of[i] && g_.has_dy(static_cast<int>(i)));
    for (;;) {
      ARGOSY_ASSIGN_OR_RETURN(FunctionGradient d, differentiate(graph_, *body_, {active_, of, g_.source()}));
      bool grown = false;
      for (std::size_t i = 0; i < xs_.size(); ++i) {
        if (d.dxs[i].node.index < 0 || active_[i]) continue;
        active_[i] = true;
        grown = true;
      }
      if (!grown) return d;
    }
  }

  Value initial_gradient(std::size_t i) {
    if (g_.has_dy(static_cast<int>(i))) return g_.dy(static_cast<int>(i));
    return zero_gradient(xs_[i].dtype() == DType::kResource ? xs_[i] : g_.y(static_cast<int>(i)));
  }
  PartialShape gradient_shape(const FunctionGradient& d, std::size_t i) const {
    const Endpoint arg{d.args[i], 0};
    const HandleFact* fact = d.body.handle(arg);
    return d.body.dtype(arg) == DType::kResource && fact != nullptr ? fact->shape : d.body.shape(arg);
  }

  // [counter, lists…, gradients of the active values…]
  Result<std::vector<Value>> backward(const FunctionGradient& d, const ForwardLoop& forward) {
    const int first = static_cast<int>(xs_.size());
    const std::size_t lists = forward.shapes().size();
    std::vector<Value> initial = {g_.y(first)};
    WhileOptions options{.shape_invariants = {PartialShape::scalar()}, .name = "while"};
    for (std::size_t k = 0; k < lists; ++k) {
      initial.push_back(g_.y(first + 1 + static_cast<int>(k)));
      options.shape_invariants.push_back(PartialShape::scalar());
    }
    for (std::size_t i = 0; i < xs_.size(); ++i) {
      if (!active_[i]) continue;
      initial.push_back(initial_gradient(i));
      options.shape_invariants.push_back(gradient_shape(d, i));
    }
    ARGOSY_RETURN_IF_ERROR(graph_.status());
    const std::vector<Value> last = while_loop(
        initial,
        [&](const std::vector<Value>& v) {
          return graph_.add("Greater", {v[0], constant(graph_, std::int32_t{0})});
        },
        [&](const std::vector<Value>& v) { return iteration(d, forward, v); }, options);
    ARGOSY_RETURN_IF_ERROR(graph_.status());
    std::vector<Value> dxs(xs_.size());
    std::size_t next = 1 + lists;
    for (std::size_t i = 0; i < xs_.size(); ++i) {
      if (active_[i]) dxs[i] = last[next++];
    }
    return dxs;
  }

  std::vector<Value> iteration(const FunctionGradient& d, const ForwardLoop& forward, const std::vector<Value>& v) {
    const std::size_t lists = forward.shapes().size();
    std::vector<Value> next = {graph_.add("Sub", {v[0], constant(graph_, std::int32_t{1})})};
    std::vector<Value> popped;
    for (std::size_t k = 0; k < lists; ++k) {
      const Value pop = graph_.add("TensorListPopBack", {v[1 + k], element_shape(graph_, forward.shapes()[k])},
                                   {{"element_dtype", forward.dtypes()[k]}});
      next.push_back(pop.output(0));
      popped.push_back(pop.output(1));
    }
    std::vector<NodeId> parameters = d.args;
    std::vector<Value> arguments(d.args.size());
    for (std::size_t i = 0; i < xs_.size(); ++i) {
      if (invariant(i)) arguments[i] = xs_[i];
    }
    for (std::size_t k = 0; k < forward.args().size(); ++k) arguments[forward.args()[k]] = popped[k];
    parameters.insert(parameters.end(), d.saved_args.begin(), d.saved_args.end());
    arguments.insert(arguments.end(), popped.begin() + static_cast<std::ptrdiff_t>(forward.args().size()),
                     popped.end());
    parameters.insert(parameters.end(), d.dy_args.begin(), d.dy_args.end());
    arguments.insert(arguments.end(), v.begin() + 1 + static_cast<std::ptrdiff_t>(lists), v.end());
    std::vector<Endpoint> roots;
    for (const Endpoint e : d.dxs) {
      if (e.node.index >= 0) roots.push_back(e);
    }
    const std::vector<Value> made = instantiate(graph_, d.body, parameters, arguments, roots);
    if (!graph_.status().ok()) return next;
    std::size_t at = 0;
    std::size_t own = 1 + lists;
    for (std::size_t i = 0; i < xs_.size(); ++i) {
      if (!active_[i]) continue;
      const bool flows = d.dxs[i].node.index >= 0;
      const Value dx = flows ? made[at++] : graph_.add("ZerosLike", {v[own]});
      ++own;
      next.push_back(with_shape(dx, gradient_shape(d, i)));
    }
    return next;
  }

  // Sets the shape of a gradient to its value's, even if its ops could not infer it.
  Value with_shape(Value dx, const PartialShape& shape) {
    const Value here = graph_.local(dx);
    if (!here.valid()) return dx;
    const auto both = here.shape().merge(shape);
    if (both.ok()) here.graph().refine_shape(here.endpoint(), *both);
    return here;
  }

  GradContext& g_;
  Graph& graph_;
  const Node node_;  // as it was
  std::vector<Value> xs_;
  const Function* body_ = nullptr;
  const Function* cond_ = nullptr;
  std::vector<bool> active_;
};

}  // namespace

std::vector<Value> while_gradient(GradContext& g) {
  const std::size_t count = g.node().inputs.size();
  auto dxs = LoopGradient(g).run();
  if (!dxs.ok()) {
    g.graph().fail(in_caller(g, dxs.status()));
    return std::vector<Value>(count);
  }
  return *std::move(dxs);
}

}  // namespace argosy
