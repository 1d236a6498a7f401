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
                         .allocator = &host_allocator(),
                         .resources = &resources});
  ARGOSY_RETURN_IF_ERROR(kernel->run(context));
  return outputs;
}

// A reference is carried as a handle; its dtype is the variable's.
DType referred_dtype(const Tensor& t) {
  if (t.dtype() != DType::kResource || t.elements() != 1) return t.dtype();
  const auto* variable = dynamic_cast<const Variable*>(t.data<ResourceHandle>()->resource().get());
  return variable != nullptr ? variable->dtype() : t.dtype();
}

}  // namespace

Result<std::vector<Tensor>> evaluate(const Graph& graph, const std::unordered_map<Endpoint, Tensor>& feeds,
                                     const std::vector<Endpoint>& fetches, const EvaluateOptions& options) {
  ResourceManager own;
  ResourceManager& resources = options.resources ? *options.resources : own;
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
  ARGOSY_ASSIGN_OR_RETURN(const auto order, graph.topological_order());
  std::unordered_map<Endpoint, Tensor> values = feeds;
  for (const NodeId id : order) {
    if (!needed[id.index]) continue;
    const Node& n = graph.node(id);
    std::vector<Tensor> inputs;
    std::vector<const Tensor*> pointers;
    std::vector<bool> want_ref(n.inputs.size(), false);
    if (n.op->has_ref_input()) {
      ARGOSY_ASSIGN_OR_RETURN(const auto dtypes, arg_dtypes(n.op->input_args, n.attrs, &want_ref));
    }
    inputs.reserve(n.inputs.size());
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      const Endpoint from = n.inputs[i];
      Tensor t = values.at(from);
      // A reference read as a value: the variable's current one.
      if (graph.node(from.node).output_is_ref(from.index) && !want_ref[i] && t.dtype() == DType::kResource) {
        const auto variable = std::dynamic_pointer_cast<Variable>(t.data<ResourceHandle>()->resource());
        ARGOSY_ASSIGN_OR_RETURN(t, variable->read(graph.node(from.node).name));
      }
      inputs.push_back(std::move(t));
    }
    for (const Tensor& t : inputs) pointers.push_back(&t);
    auto outputs = run_node(*n.op, n.attrs, n.name, pointers, n.output_dtypes, resources, options);
    if (!outputs.ok()) return std::move(outputs).status().with_where(str_cat("node '", n.name, "' (", n.op->name, ")"));
    for (std::size_t i = 0; i < outputs->size(); ++i) {
      values.try_emplace(Endpoint{id, static_cast<std::int32_t>(i)}, std::move((*outputs)[i]));
    }
  }
  std::vector<Tensor> fetched;
  for (const Endpoint e : fetches) fetched.push_back(e.index == Value::kControl ? Tensor() : values.at(e));
  return fetched;
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
