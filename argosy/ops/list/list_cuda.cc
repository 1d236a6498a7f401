#include "argosy/ops/list/list_cuda.h"

#include "argosy/ops/gpu_kernels.h"
#include "argosy/ops/layout/strided/gpu_copy_engine.h"
#include "argosy/ops/ops.h"

namespace argosy {

namespace cuda {

namespace {

class WithElements final : public Kernel {
 public:
  explicit WithElements(std::unique_ptr<Kernel> kernel) : kernel_(std::move(kernel)) {}
  Status run(KernelContext& c) override { return run_with_copy_engine(*kernel_, c); }
  bool capturable() const override { return false; }

 private:
  const std::unique_ptr<Kernel> kernel_;
};

}  // namespace

Result<std::unique_ptr<Kernel>> make_with_elements(const KernelInit& init) {
  ARGOSY_ASSIGN_OR_RETURN(auto kernel, cpu_kernels().make(init, "cpu"));
  return std::unique_ptr<Kernel>(std::make_unique<WithElements>(std::move(kernel)));
}

}  // namespace cuda

void add_kernels_cuda_list(KernelRegistry& kernels) {
  for (const char* op : {"EmptyTensorList",       "TensorListReserve",      "TensorListPushBack",
                         "TensorListPopBack",     "TensorListSetItem",      "TensorListGetItem",
                         "TensorListStack",       "TensorListFromTensor",   "TensorListLength",
                         "TensorListResize",      "TensorListElementShape", "TensorListGather",
                         "TensorListScatter",     "TensorListScatterV2",    "TensorListScatterIntoExistingList",
                         "TensorListConcat",      "TensorListConcatV2",     "TensorListSplit",
                         "TensorListConcatLists", "TensorListPushBackBatch"}) {
    kernels.add(op, "cuda", cuda::make_with_elements);
  }
  // What flows back into a list that was read in several places; of values of any other kind, what there is to add up,
  // the host adds up in its own memory.
  kernels.add("AddN", "cuda", cuda::make_with_elements, {{"T", {DType::kVariant}}});
  kernels.add("ZerosLike", "cuda", cuda::make_on_host, {{"T", {DType::kVariant}}});
}

}  // namespace argosy
