// Who makes the sums of a group of cards, for reports.
#include "argosy/comm/native_gpu/gpu_group.h"
#include "argosy/device/cuda/kernels/kernels.h"

namespace argosy::cuda {

CollectiveFacts collective_facts(const std::vector<CudaDevice*>& devices, bool fixed_order) {
  const CollectiveChoice choice = CardGroup::choose(devices, fixed_order);
  CollectiveFacts facts{.way = "own", .reason = choice.reason};
  if (choice.way == CollectiveWay::kNccl) facts.way = "NCCL";
  if (choice.way == CollectiveWay::kHost) facts.way = "host";
  return facts;
}

}  // namespace argosy::cuda
