#include <algorithm>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/control_flow/function_differentiation.h"
#include "argosy/ops/control_flow/functional.h"

namespace argosy {

namespace {

struct Traced {
  std::shared_ptr<Function> function;
  std::vector<Value> captures, controls;
};

Traced trace(Graph& graph, const std::string& name, const std::function<std::vector<Value>(FunctionBody&)>& write) {
  FunctionBody body(graph, name);
  const std::vector<Value> returns = write(body);
  return {body.finish(returns), body.captures(), body.control_captures()};
}

// Gives functions that are called with the same arguments the same captures: each gets a parameter for every value that
// any of them captured, in one order. The first `declared` parameters are not captures.
std::vector<Value> share_captures(std::vector<Traced>& functions, std::size_t declared) {
  std::vector<Value> all;
  for (const Traced& t : functions) {
    for (const Value& v : t.captures) {
      if (std::find(all.begin(), all.end(), v) == all.end()) all.push_back(v);
    }
  }
  for (Traced& t : functions) {
    Function& f = *t.function;
    std::vector<NodeId> args(f.args.begin(), f.args.begin() + static_cast<std::ptrdiff_t>(declared));
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto own = std::find(t.captures.begin(), t.captures.end(), all[i]);
      if (own != t.captures.end()) {
        args.push_back(f.args[declared + static_cast<std::size_t>(own - t.captures.begin())]);
        f.body.set_attr(args.back(), "index", static_cast<std::int64_t>(declared + i));
      } else {
        const Value unused = f.body.add(
            "_Arg", {}, {{"T", all[i].dtype()}, {"index", declared + i}, {"shape", all[i].shape()}}, "unused");
        if (!unused.valid()) return all;
        args.push_back(unused.node());
      }
    }
    f.args = std::move(args);
  }
  return all;
}

std::vector<Value> outputs_of(const Value& node, std::size_t count) {
  if (count == 0) return {node.control()};
  std::vector<Value> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(node.output(static_cast<int>(i)));
  return values;
}

void add_controls(const std::vector<Traced>& functions, std::vector<Value>& inputs) {
  for (const Traced& t : functions) inputs.insert(inputs.end(), t.controls.begin(), t.controls.end());
}

bool any_stateful(const std::vector<Traced>& functions) {
  return std::any_of(functions.begin(), functions.end(), [](const Traced& t) { return is_stateful(*t.function); });
}

PartialShape common_shape(const PartialShape& a, const PartialShape& b) {
  if (!a.has_rank() || !b.has_rank() || a.rank() != b.rank()) return PartialShape::unknown();
  std::vector<std::int64_t> sizes = a.sizes();
  for (int i = 0; i < a.rank(); ++i) {
    if (sizes[i] != b[i]) sizes[i] = PartialShape::kUnknown;
  }
  return PartialShape(std::move(sizes));
}

// Merges the returns of all branches; an error if they return unlike values.
Status merge_returns(const std::vector<Traced>& branches, std::vector<DType>& dtypes,
                     std::vector<PartialShape>& shapes) {
  for (std::size_t b = 0; b < branches.size(); ++b) {
    const Function& f = *branches[b].function;
    if (b > 0 && f.returns.size() != dtypes.size()) {
      return invalid_argument("the branches give ", dtypes.size(), " and ", f.returns.size(), " values")
          .with_id("ARG-FN-001");
    }
    for (std::size_t i = 0; i < f.returns.size(); ++i) {
      const DType dtype = f.body.dtype(f.returns[i]);
      const PartialShape& shape = f.body.shape(f.returns[i]);
      if (b == 0) {
        dtypes.push_back(dtype);
        shapes.push_back(shape);
      } else if (dtype != dtypes[i]) {
        return invalid_argument("value ", i, " of the branches is ", dtype_name(dtypes[i]), " and ", dtype_name(dtype))
            .with_id("ARG-FN-001");
      } else {
        shapes[i] = common_shape(shapes[i], shape);
      }
    }
  }
  return ok_status();
}

std::vector<Value> branching(Value selector, const std::vector<std::pair<std::string, Branch>>& branches, bool is_if,
                             std::string_view name) {
  if (!selector.valid()) return {};
  Graph& graph = selector.graph().current();
  std::vector<Traced> traced;
  for (const auto& [label, branch] : branches) {
    traced.push_back(trace(graph, str_cat(name, "/", label), [&](FunctionBody&) { return branch(); }));
  }
  if (!graph.status().ok()) return {};
  std::vector<DType> dtypes;
  std::vector<PartialShape> shapes;
  const Status merged = merge_returns(traced, dtypes, shapes);
  if (!merged.ok()) return graph.fail(Status(merged).with_where(str_cat("cond '", name, "'"))), std::vector<Value>();
  std::vector<Value> inputs = share_captures(traced, 0);
  inputs.insert(inputs.begin(), selector);
  add_controls(traced, inputs);
  AttrMap attrs = {{"Tout", dtypes}, {"output_shapes", shapes}};
  if (is_if) {
    attrs.set("then_branch", FunctionRef{traced[0].function->name});
    attrs.set("else_branch", FunctionRef{traced[1].function->name});
  } else {
    std::vector<FunctionRef> refs;
    for (const Traced& t : traced) refs.push_back({t.function->name});
    attrs.set("branches", std::move(refs));
  }
  const std::string op = str_cat(any_stateful(traced) ? "" : "Stateless", is_if ? "If" : "Case");
  const Value node = graph.add(op, std::move(inputs), std::move(attrs), name);
  return node.valid() ? outputs_of(node, dtypes.size()) : std::vector<Value>(dtypes.size());
}

// True if `inner` is at least as specific as `outer`.
bool within(const PartialShape& inner, const PartialShape& outer) {
  if (!outer.has_rank()) return true;
  if (!inner.has_rank() || inner.rank() != outer.rank()) return false;
  for (int i = 0; i < outer.rank(); ++i) {
    if (outer[i] >= 0 && inner[i] != outer[i]) return false;
  }
  return true;
}

Status check_body(const Function& body, const std::vector<Value>& initial, const std::vector<PartialShape>& shapes) {
  if (body.returns.size() != initial.size()) {
    return invalid_argument("the loop has ", initial.size(), " values, its body gives ", body.returns.size())
        .with_id("ARG-FN-002");
  }
  for (std::size_t i = 0; i < initial.size(); ++i) {
    const DType dtype = body.body.dtype(body.returns[i]);
    if (dtype != initial[i].dtype()) {
      return invalid_argument("value ", i, " of the loop starts as ", dtype_name(initial[i].dtype()),
                              ", its body gives ", dtype_name(dtype))
          .with_id("ARG-FN-002");
    }
    const PartialShape& shape = body.body.shape(body.returns[i]);
    if (!within(shape, shapes[i])) {
      return invalid_argument("value ", i, " of the loop has shape ", shapes[i], " before an iteration and ", shape,
                              " after it")
          .with_id("ARG-FN-003")
          .with_hint("say in WhileOptions::shape_invariants what stays the same, e.g. [?]");
    }
  }
  return ok_status();
}

}  // namespace

std::vector<Value> cond(Value pred, const Branch& then_branch, const Branch& else_branch, std::string_view name) {
  return branching(pred, {{"then", then_branch}, {"else", else_branch}}, true, name);
}

Value cond_value(Value pred, const std::function<Value()>& then_branch, const std::function<Value()>& else_branch,
                 std::string_view name) {
  const auto values = cond(
      pred, [&] { return std::vector<Value>{then_branch()}; }, [&] { return std::vector<Value>{else_branch()}; }, name);
  return values.empty() ? Value() : values[0];
}

std::vector<Value> switch_case(Value index, const std::vector<Branch>& branches, std::string_view name) {
  std::vector<std::pair<std::string, Branch>> labelled;
  for (std::size_t i = 0; i < branches.size(); ++i) labelled.emplace_back(str_cat("branch", i), branches[i]);
  return branching(index, labelled, false, name);
}

std::vector<Value> while_loop(const std::vector<Value>& given, const LoopCondition& condition, const LoopBody& body,
                              const WhileOptions& options) {
  if (given.empty() || !given[0].valid()) return std::vector<Value>(given.size());
  Graph& graph = given[0].graph().current();
  std::vector<Value> initial;
  std::vector<PartialShape> shapes = options.shape_invariants;
  for (const Value& v : given) {
    if (!v.valid()) return graph.fail(invalid_argument("while_loop: an initial value is no value")), given;
    const Value local = graph.local(v);
    const bool ref = local.valid() && graph.node(local.node()).output_is_ref(local.index());
    initial.push_back(ref ? identity(local) : local);
    if (options.shape_invariants.empty()) shapes.push_back(v.shape());
  }
  const std::size_t count = given.size();
  if (shapes.size() != count) {
    return graph.fail(invalid_argument("while_loop: ", shapes.size(), " shape invariants for ", count, " values")),
           given;
  }
  const bool limited = options.maximum_iterations > 0;
  if (limited) {
    initial.push_back(constant(graph, std::int64_t{0}));
    shapes.push_back(PartialShape::scalar());
  }
  const auto parameters = [&](FunctionBody& f) {
    std::vector<Value> values;
    for (std::size_t i = 0; i < initial.size(); ++i) values.push_back(f.parameter_like(initial[i], shapes[i]));
    return values;
  };
  const auto users = [&](const std::vector<Value>& values) {
    return std::vector<Value>(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count));
  };
  std::vector<Traced> traced;
  traced.push_back(trace(graph, options.name + "/cond", [&](FunctionBody& f) {
    const std::vector<Value> values = parameters(f);
    Value go_on = condition(users(values));
    if (limited) {
      const Value below = graph.add("Less", {values.back(), constant(graph, options.maximum_iterations)});
      go_on = graph.add("LogicalAnd", {go_on, below});
    }
    return std::vector<Value>{go_on};
  }));
  traced.push_back(trace(graph, options.name + "/body", [&](FunctionBody& f) {
    const std::vector<Value> values = parameters(f);
    std::vector<Value> next = body(users(values));
    if (limited) next.push_back(graph.add("AddV2", {values.back(), constant(graph, std::int64_t{1})}));
    return next;
  }));
  if (!graph.status().ok()) return std::vector<Value>(count);
  Function& test = *traced[0].function;
  Function& step = *traced[1].function;
  Status fits = check_body(step, initial, shapes);
  if (fits.ok() && test.body.dtype(test.returns[0]) != DType::kBool) {
    fits = invalid_argument("the condition gives ", dtype_name(test.body.dtype(test.returns[0])), ", not bool")
               .with_id("ARG-FN-002");
  }
  if (!fits.ok()) {
    return graph.fail(std::move(fits).with_where(str_cat("loop '", options.name, "'"))), std::vector<Value>(count);
  }
  // Captures are values of the loop that its body gives back as they are.
  const std::vector<Value> captures = share_captures(traced, initial.size());
  for (std::size_t i = initial.size(); i < step.args.size(); ++i) step.returns.push_back({step.args[i], 0});
  std::vector<Value> inputs = initial;
  for (const Value& v : captures) {
    inputs.push_back(v);
    shapes.push_back(v.shape());
  }
  add_controls(traced, inputs);
  const Value node = graph.add(any_stateful(traced) ? "While" : "StatelessWhile", std::move(inputs),
                               {{"cond", FunctionRef{test.name}},
                                {"body", FunctionRef{step.name}},
                                {"output_shapes", std::move(shapes)},
                                {"parallel_iterations", options.parallel_iterations}},
                               options.name);
  return node.valid() ? outputs_of(node, count) : std::vector<Value>(count);
}

FunctionValue define_function(Graph& graph, std::string_view name, const std::vector<Parameter>& parameters,
                              const std::function<std::vector<Value>(const std::vector<Value>&)>& body) {
  const Traced traced = trace(graph, std::string(name), [&](FunctionBody& f) {
    std::vector<Value> values;
    for (const Parameter& p : parameters) values.push_back(f.parameter(p.dtype, p.shape));
    return body(values);
  });
  FunctionValue value{traced.function->name, traced.captures, {}, is_stateful(*traced.function)};
  if (!graph.status().ok()) return value;
  for (const Endpoint e : traced.function->returns) value.returns.push_back(traced.function->body.dtype(e));
  return value;
}

std::vector<Value> call(Graph& given, const FunctionValue& function, const std::vector<Value>& arguments,
                        std::string_view name) {
  Graph& graph = given.current();
  std::vector<Value> inputs = arguments;
  inputs.insert(inputs.end(), function.captures.begin(), function.captures.end());
  AttrMap attrs = {{"Tout", function.returns}, {"f", FunctionRef{function.name}}};
  if (const Function* f = graph.function(function.name)) {
    std::vector<PartialShape> shapes;
    for (const Endpoint e : f->returns) shapes.push_back(f->body.shape(e));
    attrs.set("_output_shapes", std::move(shapes));
  }
  const Value node = graph.add(function.has_effects ? "StatefulPartitionedCall" : "PartitionedCall", std::move(inputs),
                               std::move(attrs), name.empty() ? std::string_view(function.name) : name);
  return node.valid() ? outputs_of(node, function.returns.size()) : std::vector<Value>(function.returns.size());
}

}  // namespace argosy
