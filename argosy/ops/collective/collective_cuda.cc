// Shards of a batch on a GPU: rows are forwarded in place. Factors are computed in host memory, and multiply their
// tensors here.
#include "argosy/ops/gpu_kernels.h"
#include "argosy/ops/layout/strided/gpu_copy_engine.h"

namespace argosy {

void add_kernels_cuda_all_reduce(KernelRegistry& kernels);

namespace {

Status scale_nonempty(KernelContext& c) {
  const Tensor &x = c.input(0), &factor = c.input(1);
  if (factor.shape().rank() != 0) return invalid_argument("_ScaleNonempty: the factor must be a scalar");
  if (factor.dtype() != x.dtype()) {
    return invalid_argument("_ScaleNonempty: x is ", dtype_name(x.dtype()), ", the factor ",
                            dtype_name(factor.dtype()));
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape(), {0}));
  const std::int64_t n = x.elements();
  if (n == 0) return ok_status();
  ARGOSY_ASSIGN_OR_RETURN(const Buffer there, c.scratch(factor.bytes()));
  ARGOSY_RETURN_IF_ERROR(cuda::device_of(*c.device()).upload(there.data(), factor.raw(), factor.bytes()));
  ARGOSY_ASSIGN_OR_RETURN(const auto strided, cuda::strided_index_of(x.shape(), x.shape(), {}));
  // 0 times anything is 0 here, too.
  return cuda::launch(c, {"binary_functions", str_cat("binary_MulNoNan_", cuda::type_suffix(x.dtype()))},
                      cuda::grid_for_vecs(n, element_bytes(x.dtype())), n, x.raw(), there.data(), y->raw(), strided);
}

}  // namespace

void add_kernels_cuda_collective(KernelRegistry& kernels) {
  add_kernels_cuda_all_reduce(kernels);
  kernels.add("_ShardBatch", "cuda", cuda::make_on_host);
  kernels.add("_ShardWeight", "cuda", cuda::make_on_host);
  kernels.add("_LocalSize", "cuda", cuda::make_on_host);
  kernels.add("NcclBroadcast", "cuda", cuda::make_on_host);
  kernels.add("NcclReduce", "cuda", cuda::make_host_fallback);
  kernels.add("CollectiveAssignGroupV2", "cuda", cuda::make_on_host);
  kernels.add("_ScaleNonempty", "cuda", cuda::make_launching<scale_nonempty>, {{"T", cuda::kFloatingTypes}});
}

}  // namespace argosy
