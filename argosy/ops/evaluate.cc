#include "argosy/ops/evaluate.h"

#include "argosy/ops/ops.h"

namespace argosy {

namespace {

Result<std::vector<Tensor>> run_node(const OpDef& op, const AttrMap& attrs, std::string_view name,
                                     const std::vector<const Tensor*>& inputs, const std::vector<DType>& output_dtypes,
                                     ResourceManager& resources, const EvaluateOptions& options) {
  std::vector<DType> input_dtypes;
  std::vector<PartialShape> input_shapes;
  for (const Tensor* t : inputs) {
    input_dtypes.push_back(t->dtype());
    input_shapes.emplace_back(t->shape());
  }
  const std::vector<PartialShape> output_shapes(output_dtypes.size());
  const KernelInit init{.op = op,
                        .attrs = attrs,
                        .node = name,
                        .input_dtypes = input_dtypes,
                        .output_dtypes = output_dtypes,
                        .input_shapes = input_shapes,
                        .output_shapes = output_shapes,
                        .constants = inputs,
                        .resources = &resources};
  const KernelRegistry& kernels = options.kernels ? *options.kernels : cpu_kernels();
  ARGOSY_ASSIGN_OR_RETURN(const std::unique_ptr<Kernel> kernel,
                          options.reference ? kernels.make_reference(init, "cpu") : kernels.make(init, "cpu"));
  std::vector<Tensor> outputs(output_dtypes.size());
  std::vector<OutputSlot> slots(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) slots[i].tensor = &outputs[i];
  KernelContext context({.inputs = inputs.data(),
                         .num_inputs = static_cast<int>(inputs.size()),
                         .outputs = slots.data(),
                         .num_outputs = static_cast<int>(slots.size()),
                         .output_dtypes = output_dtypes.data(),
                         .node = name,
                         .allocator = options.memory != nullptr ? options.memory : &host_allocator(),
                         .resources = &resources});
  ARGOSY_RETURN_IF_ERROR(kernel->run(context));
  return outputs;
}

// A reference is represented by a handle; its dtype is the variable's.
DType referred_dtype(const Tensor& t) {
  if (t.dtype() != DType::kResource || t.elements() != 1) return t.dtype();
  const auto* variable = dynamic_cast<const Variable*>(t.data<ResourceHandle>()->resource().get());
  return variable != nullptr ? variable->dtype() : t.dtype();
}

constexpr int kMaxCallDepth = 64;

// One evaluation of a graph, and of the functions that its nodes call.
class Evaluation {
 public:
  Evaluation(const Graph& library, const EvaluateOptions& options, ResourceManager& resources)
      : library_(library), options_(options), resources_(resources) {}

  Result<std::vector<Tensor>> run(const Graph& graph, const std::unordered_map<Endpoint, Tensor>& feeds,
                                  const std::vector<Endpoint>& fetches) {
    const std::vector<char> needed = needed_nodes(graph, feeds, fetches);
    ARGOSY_ASSIGN_OR_RETURN(const auto order, graph.topological_order());
    std::unordered_map<Endpoint, Tensor> values = feeds;
    for (const NodeId id : order) {
      if (!needed[id.index]) continue;
      const Node& n = graph.node(id);
      auto outputs = run_one(graph, n, values);
      if (!outputs.ok())
        return std::move(outputs).status().with_where(str_cat("node '", n.name, "' (", n.op->name, ")"));
      for (std::size_t i = 0; i < outputs->size(); ++i) {
        values.try_emplace(Endpoint{id, static_cast<std::int32_t>(i)}, std::move((*outputs)[i]));
      }
    }
    std::vector<Tensor> fetched;
    for (const Endpoint e : fetches) fetched.push_back(e.index == Value::kControl ? Tensor() : values.at(e));
    return fetched;
  }

 private:
  static std::vector<char> needed_nodes(const Graph& graph, const std::unordered_map<Endpoint, Tensor>& feeds,
                                        const std::vector<Endpoint>& fetches) {
    std::vector<char> needed(graph.size(), 0);
    std::vector<NodeId> stack;
    const auto need = [&](NodeId id) {
      if (!needed[id.index]) {
        needed[id.index] = 1;
        stack.push_back(id);
      }
    };
    for (const Endpoint e : fetches) {
      if (!feeds.contains(e)) need(e.node);
    }
    while (!stack.empty()) {
      const Node& n = graph.node(stack.back());
      stack.pop_back();
      for (const Endpoint e : n.inputs) {
        if (!feeds.contains(e)) need(e.node);
      }
      for (const NodeId c : n.controls) need(c);
    }
    return needed;
  }

  Result<std::vector<Tensor>> run_one(const Graph& graph, const Node& n,
                                      const std::unordered_map<Endpoint, Tensor>& values) {
    std::vector<Tensor> inputs;
    std::vector<bool> want_ref(n.inputs.size(), false);
    if (n.op->has_ref_input()) {
      ARGOSY_ASSIGN_OR_RETURN(const auto dtypes, arg_dtypes(n.op->input_args, n.attrs, &want_ref));
    }
    inputs.reserve(n.inputs.size());
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      const Endpoint from = n.inputs[i];
      Tensor t = values.at(from);
      // Reads the variable's current value, if a value is wanted and not the reference.
      if (graph.node(from.node).output_is_ref(from.index) && !want_ref[i] && t.dtype() == DType::kResource) {
        const auto variable = std::dynamic_pointer_cast<Variable>(t.data<ResourceHandle>()->resource());
        if (!variable) return invalid_argument("a reference does not name a variable");
        ARGOSY_ASSIGN_OR_RETURN(t, variable->read(t.data<ResourceHandle>()->name()));
      }
      inputs.push_back(std::move(t));
    }
    if (n.op->calls != Calls::kNothing) return call(n, std::move(inputs));
    std::vector<const Tensor*> pointers;
    for (const Tensor& t : inputs) pointers.push_back(&t);
    return run_node(*n.op, n.attrs, n.name, pointers, n.output_dtypes, resources_, options_);
  }

  Result<std::vector<Tensor>> call(const Node& n, std::vector<Tensor> inputs) {
    const auto function = [&](std::string_view attr) { return n.attrs.get<FunctionRef>(attr).name; };
    const auto rest = [&] { return std::vector<Tensor>(inputs.begin() + 1, inputs.end()); };
    switch (n.op->calls) {
      case Calls::kIf: {
        ARGOSY_ASSIGN_OR_RETURN(const bool yes, to_bool(inputs[0]));
        return call(function(yes ? "then_branch" : "else_branch"), rest());
      }
      case Calls::kCase: {
        const auto& branches = n.attrs.get<std::vector<FunctionRef>>("branches");
        ARGOSY_ASSIGN_OR_RETURN(const std::int64_t asked, to_int64(inputs[0], "branch_index"));
        const auto count = static_cast<std::int64_t>(branches.size());
        return call(branches[asked < 0 || asked >= count ? count - 1 : asked].name, rest());
      }
      case Calls::kWhile:
        if (n.attrs.find("cond") == nullptr) return count(function("body"), std::move(inputs));
        for (;;) {
          ARGOSY_ASSIGN_OR_RETURN(const auto test, call(function("cond"), inputs));
          ARGOSY_ASSIGN_OR_RETURN(const bool yes, to_bool(test[0]));
          if (!yes) return inputs;
          ARGOSY_ASSIGN_OR_RETURN(inputs, call(function("body"), inputs));
        }
      case Calls::kCallOn: return call(function("f"), rest());
      default: return call(function("f"), inputs);
    }
  }

  // Runs a For. Its first inputs are start, limit and delta.
  Result<std::vector<Tensor>> count(const std::string& body, std::vector<Tensor> inputs) {
    ARGOSY_ASSIGN_OR_RETURN(const OpDef* const op, library_.ops().lookup("_ForSteps"));
    ARGOSY_ASSIGN_OR_RETURN(const auto steps, evaluate_op(*op, {}, {inputs[0], inputs[1], inputs[2]}, options_));
    std::int64_t i = *inputs[0].data<std::int32_t>();
    const std::int64_t delta = *inputs[2].data<std::int32_t>();
    std::vector<Tensor> values(inputs.begin() + 3, inputs.end());
    for (std::int64_t left = *steps[0].data<std::int64_t>(); left > 0; --left, i += delta) {
      values.insert(values.begin(), Tensor::scalar(static_cast<std::int32_t>(i)));
      ARGOSY_ASSIGN_OR_RETURN(values, call(body, values));
    }
    return values;
  }

  Result<bool> to_bool(const Tensor& t) {
    ARGOSY_ASSIGN_OR_RETURN(const OpDef* const op, library_.ops().lookup("ToBool"));
    ARGOSY_ASSIGN_OR_RETURN(const auto outputs, evaluate_op(*op, {}, {t}, options_));
    return *outputs[0].data<bool>();
  }

  Result<std::vector<Tensor>> call(const std::string& name, const std::vector<Tensor>& inputs) {
    const Function* f = library_.function(name);
    if (f == nullptr) return not_found("there is no function \"", name, "\"").with_id("ARG-FN-005");
    if (f->args.size() != inputs.size()) {
      return invalid_argument("function \"", name, "\" takes ", f->args.size(), " values, not ", inputs.size());
    }
    if (depth_ >= kMaxCallDepth) return invalid_argument("functions call each other more than ", depth_, " deep");
    std::unordered_map<Endpoint, Tensor> feeds;
    for (std::size_t i = 0; i < inputs.size(); ++i) feeds[{f->args[i], 0}] = inputs[i];
    std::vector<Endpoint> fetches = f->returns;
    for (const NodeId id : f->control_returns) fetches.push_back({id, Value::kControl});
    ++depth_;
    auto outputs = run(f->body, feeds, fetches);
    --depth_;
    if (outputs.ok()) outputs->resize(f->returns.size());
    return outputs;
  }

  const Graph& library_;
  const EvaluateOptions& options_;
  ResourceManager& resources_;
  int depth_ = 0;
};

}  // namespace

Result<std::vector<Tensor>> evaluate(const Graph& graph, const std::unordered_map<Endpoint, Tensor>& feeds,
                                     const std::vector<Endpoint>& fetches, const EvaluateOptions& options) {
  ResourceManager own;
  return Evaluation(graph, options, options.resources ? *options.resources : own).run(graph, feeds, fetches);
}

Result<std::vector<Tensor>> evaluate_op(const OpDef& op, AttrMap attrs, const std::vector<Tensor>& inputs,
                                        const EvaluateOptions& options) {
  std::vector<DType> dtypes;
  std::vector<const Tensor*> pointers;
  for (const Tensor& t : inputs) {
    const bool ref = dtypes.size() < op.input_args.size() && op.input_args[dtypes.size()].is_ref;
    dtypes.push_back(ref ? referred_dtype(t) : t.dtype());
    pointers.push_back(&t);
  }
  ARGOSY_RETURN_IF_ERROR(complete_attrs(op, dtypes, attrs));
  ARGOSY_ASSIGN_OR_RETURN(const auto output_dtypes, arg_dtypes(op.output_args, attrs));
  ResourceManager own;
  ResourceManager& resources = options.resources ? *options.resources : own;
  return run_node(op, attrs, op.name, pointers, output_dtypes, resources, options);
}

}  // namespace argosy
