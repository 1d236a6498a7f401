// The backend that a group of GPUs uses for sums, for reports.
#include "argosy/comm/native_gpu/gpu_group.h"
#include "argosy/device/cuda/kernels/kernels.h"

namespace argosy::cuda {

CollectiveFacts collective_facts(const std::vector<CudaDevice*>& devices, bool deterministic) {
  const CollectiveChoice choice = GpuGroup::choose(devices, deterministic);
  CollectiveFacts facts{.way = "own", .reason = choice.reason};
  if (choice.backend == CollectiveBackend::kNccl) facts.way = "NCCL";
  if (choice.backend == CollectiveBackend::kHostStaged) facts.way = "host";
  return facts;
}

}  // namespace argosy::cuda
