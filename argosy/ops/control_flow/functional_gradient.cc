// Gradients of If, Case and calls: the backward pass takes the branch that the forward pass took.
#include <algorithm>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/control_flow/function_differentiation.h"
#include "argosy/ops/control_flow/functional.h"

namespace argosy {

namespace {

// Adds a value of this dtype in place of one that another branch returns; nothing reads it.
Endpoint stand_in(Graph& body, DType dtype) {
  if (dtype == DType::kVariant) {
    const Value any = constant(body, std::int32_t{-1});
    return body.add("EmptyTensorList", {any, any}, {{"element_dtype", DType::kFloat32}}).endpoint();
  }
  return constant(body, Tensor::zeros(dtype, {0})).endpoint();
}

// A node that calls one of several functions on the same arguments, and its backward pass.
class Calling {
 public:
  // `first`: the input that is the functions' first argument.
  Calling(GradContext& g, int first, std::vector<std::string> functions)
      : g_(g),
        graph_(g.graph()),
        node_(g.node()),
        first_(static_cast<std::size_t>(first)),
        names_(std::move(functions)) {
    for (std::size_t i = first_; i < node_.inputs.size(); ++i) xs_.push_back(graph_.value(node_.inputs[i]));
  }

  // Returns the names of the functions to call instead; they also return what the backward pass needs.
  Result<std::vector<std::string>> differentiate_all() {
    GradientRequest request{.source = g_.source()};
    for (int i = 0; i < g_.num_outputs(); ++i) {
      request.active.push_back(g_.has_dy(i) && carries_gradient(g_.y(i)));
      if (request.active.back()) dys_.push_back(g_.dy(i));
    }
    for (std::size_t x = 0; x < xs_.size(); ++x) request.wanted.push_back(g_.wants(static_cast<int>(first_ + x)));
    for (const std::string& name : names_) {
      ARGOSY_ASSIGN_OR_RETURN(const Function* const f, find_function(graph_, name, xs_.size(), request.active.size()));
      functions_.push_back(f);
      ARGOSY_ASSIGN_OR_RETURN(FunctionGradient d, differentiate(graph_, *f, request));
      gradients_.push_back(std::move(d));
    }
    return hand_over();
  }

  bool wants(std::size_t x) const {
    return std::any_of(gradients_.begin(), gradients_.end(),
                       [&](const FunctionGradient& d) { return d.dxs[x].node.index >= 0; });
  }

  // Returns the gradients that are needed, in order, from choice b.
  std::vector<Value> backward(std::size_t b) const {
    const FunctionGradient& d = gradients_[b];
    std::vector<NodeId> parameters = d.args;
    std::vector<Value> arguments = xs_;
    parameters.insert(parameters.end(), d.saved_args.begin(), d.saved_args.end());
    for (std::size_t k = 0; k < d.saved.size(); ++k) arguments.push_back(g_.y(saved_at_[b] + static_cast<int>(k)));
    parameters.insert(parameters.end(), d.dy_args.begin(), d.dy_args.end());
    arguments.insert(arguments.end(), dys_.begin(), dys_.end());
    std::vector<Endpoint> roots;
    for (const Endpoint e : d.dxs) {
      if (e.node.index >= 0) roots.push_back(e);
    }
    const std::vector<Value> made = instantiate(graph_, d.body, parameters, arguments, roots);
    std::vector<Value> dxs;
    for (std::size_t x = 0, next = 0; x < xs_.size(); ++x) {
      if (d.dxs[x].node.index >= 0) {
        dxs.push_back(made[next++]);
      } else if (wants(x)) {
        dxs.push_back(zero_gradient(xs_[x]));
      }
    }
    return dxs;
  }

  // One per input of the node.
  std::vector<Value> spread(const std::vector<Value>& dxs) const {
    std::vector<Value> all(node_.inputs.size());
    for (std::size_t x = 0, next = 0; x < xs_.size(); ++x) {
      if (wants(x) && next < dxs.size()) all[first_ + x] = dxs[next++];
    }
    return all;
  }
  std::vector<Value> nothing() const { return std::vector<Value>(node_.inputs.size()); }

 private:
  Result<std::vector<std::string>> hand_over() {
    std::vector<DType> dtypes;
    std::vector<PartialShape> shapes;
    for (const FunctionGradient& d : gradients_) {
      saved_at_.push_back(static_cast<int>(node_.output_dtypes.size() + dtypes.size()));
      for (const Endpoint e : d.saved) {
        dtypes.push_back(d.forward.dtype(e));
        shapes.push_back(names_.size() > 1 ? PartialShape::unknown() : d.forward.shape(e));
      }
    }
    if (dtypes.empty()) return names_;
    std::vector<std::string> names;
    for (std::size_t b = 0; b < names_.size(); ++b) {
      Graph& body = gradients_[b].forward;
      FunctionPlan plan{functions_[b]->args, functions_[b]->returns, functions_[b]->control_returns};
      for (std::size_t c = 0; c < names_.size(); ++c) {
        for (const Endpoint e : gradients_[c].saved) {
          plan.returns.push_back(b == c ? e : stand_in(body, gradients_[c].forward.dtype(e)));
        }
      }
      ARGOSY_RETURN_IF_ERROR(body.status());
      ARGOSY_ASSIGN_OR_RETURN(std::string name, add_function_of(graph_, body, plan, names_[b] + "_forward"));
      names.push_back(std::move(name));
    }
    std::vector<DType> all_dtypes = node_.output_dtypes;
    std::vector<PartialShape> all_shapes = node_.output_shapes;
    all_dtypes.insert(all_dtypes.end(), dtypes.begin(), dtypes.end());
    all_shapes.insert(all_shapes.end(), shapes.begin(), shapes.end());
    graph_.set_attr(g_.id(), "Tout", std::move(all_dtypes));
    graph_.set_attr(g_.id(), node_.op->attr("output_shapes") != nullptr ? "output_shapes" : "_output_shapes",
                    std::move(all_shapes));
    graph_.add_outputs(g_.id(), dtypes, shapes);
    return names;
  }

  GradContext& g_;
  Graph& graph_;
  const Node node_;  // as it was
  const std::size_t first_;
  const std::vector<std::string> names_;
  std::vector<Value> xs_, dys_;
  std::vector<const Function*> functions_;
  std::vector<FunctionGradient> gradients_;
  std::vector<int> saved_at_;  // per choice: the output that has its first saved value
};

}  // namespace

std::vector<Value> if_gradient(GradContext& g) {
  Calling calling(g, 1,
                  {g.attrs().get<FunctionRef>("then_branch").name, g.attrs().get<FunctionRef>("else_branch").name});
  const auto names = calling.differentiate_all();
  if (!names.ok()) return g.graph().fail(in_caller(g, names.status())), calling.nothing();
  g.graph().set_attr(g.id(), "then_branch", FunctionRef{(*names)[0]});
  g.graph().set_attr(g.id(), "else_branch", FunctionRef{(*names)[1]});
  const auto none = calling.nothing();
  bool any = false;
  for (std::size_t x = 0; x + 1 < none.size(); ++x) any = any || calling.wants(x);
  if (!any) return none;
  return calling.spread(cond(
      g.x(0), [&] { return calling.backward(0); }, [&] { return calling.backward(1); }, "cond"));
}

std::vector<Value> case_gradient(GradContext& g) {
  std::vector<std::string> branches;
  for (const FunctionRef& f : g.attrs().get<std::vector<FunctionRef>>("branches")) branches.push_back(f.name);
  Calling calling(g, 1, branches);
  const auto names = calling.differentiate_all();
  if (!names.ok()) return g.graph().fail(in_caller(g, names.status())), calling.nothing();
  std::vector<FunctionRef> refs;
  for (const std::string& name : *names) refs.push_back({name});
  g.graph().set_attr(g.id(), "branches", std::move(refs));
  const auto none = calling.nothing();
  bool any = false;
  for (std::size_t x = 0; x + 1 < none.size(); ++x) any = any || calling.wants(x);
  if (!any) return none;
  std::vector<Branch> backward;
  for (std::size_t b = 0; b < branches.size(); ++b) backward.push_back([&calling, b] { return calling.backward(b); });
  return calling.spread(switch_case(g.x(0), backward, "switch_case"));
}

std::vector<Value> call_gradient(GradContext& g) {
  Calling calling(g, 0, {g.attrs().get<FunctionRef>("f").name});
  const auto names = calling.differentiate_all();
  if (!names.ok()) return g.graph().fail(in_caller(g, names.status())), calling.nothing();
  g.graph().set_attr(g.id(), "f", FunctionRef{(*names)[0]});
  return calling.spread(calling.backward(0));
}

}  // namespace argosy
