#include "argosy/runtime/compile/node_kernels.h"

#include <algorithm>

#include "argosy/base/small_vector.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/runtime/compile/storage/beyond_memory.h"
#include "argosy/runtime/device_set/counted_strings.h"
#include "argosy/runtime/session/function_calls.h"

namespace argosy {

namespace {

// Sets the calling thread's thread budget to that of a device, until it is destroyed.
class Team {
 public:
  explicit Team(int cores) : before_(thread_budget()) { set(cores); }
  ~Team() { set(before_); }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

 private:
  static void set(int threads) {
    if (thread_budget() != threads) set_thread_budget(threads);
  }
  const int before_;
};

}  // namespace

const std::shared_ptr<FunctionCalls>& NodeKernels::functions() {
  if (functions_ == nullptr && !graph_.functions().empty()) {
    functions_ = make_function_calls(graph_, *step_.device_set, kernels_, step_.op_state);
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
                        .op_state = step_.op_state,
                        .functions = functions()};
  ARGOSY_ASSIGN_OR_RETURN(auto kernel, kernels_.make(init, device.kernel_kind()));
  if (auto* const says = dynamic_cast<Workspace*>(kernel.get())) take_workspace(*says, init, d);
  step_.kernels.push_back(count_strings(std::move(kernel), init));
  return step_.kernels.back().get();
}

Result<Tensor> NodeKernels::handle(NodeId id, std::int32_t constant) {
  const Node& n = graph_.node(id);
  if (step_.handles.empty()) step_.generation = resource_generation(step_);
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
  const bool by_name = tensor.dtype() == dtype && !tensor.data<ResourceHandle>()->container().empty();
  if (by_name) step_.handles.push_back({constant, kernel, d, n.name});
  return tensor;
}

namespace {

// Kernels' estimates overflow for such shapes.
bool is_beyond_memory(const PartialShape& shape) { return shape.elements() >= kBeyondMemory; }

}  // namespace

void NodeKernels::take_workspace(Workspace& says, const KernelInit& init, int device) {
  MemoryForecast& forecast = step_.info.forecast[device];
  if (std::ranges::any_of(init.input_shapes, is_beyond_memory) ||
      std::ranges::any_of(init.output_shapes, is_beyond_memory)) {
    forecast.exact = false;
    return;
  }
  const Team team(init.device->spec().cores);
  const auto bytes = says.workspace_bytes(init);
  if (!bytes) forecast.exact = false;
  workspace_.resize(static_cast<std::size_t>(step_.device_set->size()));
  std::uint64_t& most = workspace_[static_cast<std::size_t>(device)];
  if (bytes.value_or(0) <= most) return;
  forecast.dynamic_bytes += *bytes - most;
  most = *bytes;
}

}  // namespace argosy
