// Variables on a GPU: handles are in host memory; values are copied and updated by launched work.
#include "argosy/ops/gpu_kernels.h"

namespace argosy {

void add_kernels_cuda_slices(KernelRegistry& kernels);

namespace {

std::string_view name_of(const KernelContext& c, int i) { return c.input(i).data<ResourceHandle>()->name(); }

// variable = variable + value, or - value. What is launched under its lock comes in the stream's order after what
// others launched under it.
class AssignUpdate final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    const bool add = init.op.name.starts_with("AssignAdd");
    return std::unique_ptr<Kernel>(std::make_unique<AssignUpdate>(
        str_cat("binary_", add ? "Add" : "Sub", "_", cuda::type_suffix(init.input_dtypes[1]))));
  }
  explicit AssignUpdate(std::string kernel) : kernel_(std::move(kernel)) {}

  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(Variable* const v, c.variable(0));
    const Tensor& by = c.input(1);
    ARGOSY_RETURN_IF_ERROR(v->update(name_of(c, 0), [&](Tensor& value) -> Status {
      if (value.dtype() != by.dtype() || !(value.shape() == by.shape())) {
        return invalid_argument("Cannot update variable with shape ", value.shape(), " using a Tensor with shape ",
                                by.shape(), ", shapes must be equal.: variable ", name_of(c, 0), " of ",
                                dtype_name(value.dtype()), ", the update of ", dtype_name(by.dtype()))
            .with_id("ARG-SHAPE-006");
      }
      const std::int64_t n = value.elements();
      ARGOSY_ASSIGN_OR_RETURN(const auto strided, cuda::strided_index_of(value.shape(), value.shape(), by.shape()));
      return cuda::launch(c, {"arithmetic", kernel_}, cuda::grid_for_vecs(n, element_bytes(value.dtype())), n,
                          value.raw(), by.raw(), value.raw(), strided);
    }));
    if (c.num_outputs() > 0) c.set_output(0, c.input(0));
    return ok_status();
  }

 private:
  const std::string kernel_;
};

}  // namespace

void add_kernels_cuda_state(KernelRegistry& kernels) {
  using enum DType;
  add_kernels_cuda_slices(kernels);
  // int32 values live in the host's memory, their variables with them on a CPU.
  const std::vector<DType> numbers = {kFloat32, kFloat64, kFloat16, kBfloat16, kInt8,  kInt16,
                                      kInt64,   kUint8,   kUint16,  kUint32,   kUint64};
  std::vector<DType> held = numbers;
  held.insert(held.end(), {kBool, kComplex64, kComplex128});
  for (const char* op :
       {"VariableV2", "Variable", "VarHandleOp", "TemporaryVariable", "ReadVariableOp", "AssignVariableOp"}) {
    kernels.add(op, "cuda", cuda::make_on_host, {{"dtype", held}});
  }
  for (const char* op : {"DestroyTemporaryVariable", "RefIdentity", "DebugGradientRefIdentity", "RefSelect",
                         "_RefToHandle", "_HandleToRef", "Assign"}) {
    kernels.add(op, "cuda", cuda::make_on_host, {{"T", held}});
  }
  for (const char* op : {"IsVariableInitialized", "VarIsInitializedOp", "VariableShape", "DestroyResourceOp",
                         "DisableCopyOnRead", "_ReadAgain"}) {
    kernels.add(op, "cuda", cuda::make_on_host);
  }
  for (const char* op : {"AssignAdd", "AssignSub"}) kernels.add(op, "cuda", AssignUpdate::make, {{"T", numbers}});
  for (const char* op : {"AssignAddVariableOp", "AssignSubVariableOp"}) {
    kernels.add(op, "cuda", AssignUpdate::make, {{"dtype", numbers}});
  }
}

}  // namespace argosy
