#include "argosy/runtime/compile/node_kernels.h"

#include "argosy/base/small_vector.h"
#include "argosy/op/kernel/scratch.h"
#include "argosy/runtime/machine/counted_strings.h"
#include "argosy/runtime/session/function_calls.h"

namespace argosy {

const std::shared_ptr<FunctionCalls>& NodeKernels::functions() {
  if (functions_ == nullptr && !graph_.functions().empty()) {
    functions_ = make_function_calls(graph_, *step_.device_set, kernels_, step_.session);
  }
  return functions_;
}

Result<Kernel*> NodeKernels::make(NodeId id) {
  const Node& n = graph_.node(id);
  SmallVector<DType, 8> input_dtypes;
  SmallVector<PartialShape, 4> input_shapes;
  SmallVector<const Tensor*, 8> constants;
  for (const Endpoint e : n.inputs) {
    input_dtypes.push_back(graph_.dtype(e));
    input_shapes.push_back(graph_.shape(e));
    constants.push_back(graph_.constant(e));
  }
  const int d = placement_.device[id.index];
  Device& device = step_.device_set->device(d);
  const KernelInit init{.op = *n.op,
                        .attrs = n.attrs,
                        .node = n.name,
                        .input_dtypes = input_dtypes,
                        .output_dtypes = n.output_dtypes,
                        .input_shapes = input_shapes,
                        .output_shapes = n.output_shapes,
                        .constants = constants,
                        .device = &device,
                        .resources = &step_.device_set->resources(d),
                        .session = step_.session,
                        .functions = functions()};
  ARGOSY_ASSIGN_OR_RETURN(auto kernel, kernels_.make(init, device.kernel_kind()));
  step_.kernels.push_back(count_strings(std::move(kernel), init));
  return step_.kernels.back().get();
}

Result<Tensor> NodeKernels::handle(NodeId id) {
  const Node& n = graph_.node(id);
  ARGOSY_ASSIGN_OR_RETURN(Kernel* const kernel, make(id));
  const int d = placement_.device[id.index];
  Tensor tensor;
  OutputSlot slot{.tensor = &tensor};
  const DType dtype = DType::kResource;
  Device& device = step_.device_set->device(d);
  KernelContext context({.outputs = &slot,
                         .num_outputs = 1,
                         .output_dtypes = &dtype,
                         .node = n.name,
                         .device = &device,
                         .allocator = &device.allocator(),
                         .resources = &step_.device_set->resources(d)});
  ARGOSY_RETURN_IF_ERROR(kernel->run(context));
  const auto* shape = n.attrs.find_as<PartialShape>("shape");
  const auto* type = n.attrs.find_as<DType>("dtype");
  if (shape != nullptr && type != nullptr && shape->elements() > 0 && is_plain(*type)) {
    step_.info.forecast[d].variable_bytes += static_cast<std::uint64_t>(shape->elements()) * element_bytes(*type);
  }
  return tensor;
}

void NodeKernels::take_scratch(NodeId id) {
  const auto* const scratch = graph_.node(id).attrs.find_as<std::vector<std::int64_t>>(kScratchAttr);
  if (scratch == nullptr) return;
  const auto d = static_cast<std::size_t>(placement_.device[id.index]);
  scratch_.resize(static_cast<std::size_t>(step_.device_set->size()));
  const std::int64_t cores = step_.device_set->device(static_cast<int>(d)).spec().cores;
  const auto bytes = static_cast<std::uint64_t>(scratch->at(0) + scratch->at(1) * cores);
  if (bytes <= scratch_[d]) return;
  step_.info.forecast[d].dynamic_bytes += bytes - scratch_[d];
  scratch_[d] = bytes;
}

}  // namespace argosy
