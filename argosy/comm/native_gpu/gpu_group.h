// GpuGroup: the collectives of one set of GPUs, by NCCL or our own. Kept by the first of the devices, from step to step.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "argosy/comm/native_gpu/collective_choice.h"
#include "argosy/comm/native_gpu/gpu_collectives.h"
#include "argosy/comm/nccl/nccl.h"

namespace argosy::cuda {

class GpuGroup final : public GroupBackend {
 public:
  // By rank. The devices are alive whenever the group is used.
  static std::shared_ptr<GpuGroup> of(const std::vector<CudaDevice*>& devices);
  // What choose_collectives() says for these devices; null: a rank in the host's memory.
  static CollectiveChoice choose(const std::vector<CudaDevice*>& devices, bool deterministic);
  // The same for people: "our own (the order of the sum is fixed)".
  static std::string describe(const std::vector<CudaDevice*>& devices, bool deterministic);

  explicit GpuGroup(std::vector<CudaDevice*> devices) : devices_(std::move(devices)) {}
  // By NCCL only where the calls leave the order of additions open. Where NCCL cannot connect these GPUs our own do it,
  // from then on. Rank r of the calls is on device r.
  Result<std::vector<Event>> start(std::span<const CollectiveCall> calls,
                                   const std::shared_ptr<StepAbort>& step_abort) override;

 private:
  const std::vector<CudaDevice*> devices_;
  Mutex mutex_;
  std::shared_ptr<GpuCollectives> native_ ARGOSY_GUARDED_BY(mutex_);
  std::shared_ptr<NcclCollectives> nccl_ ARGOSY_GUARDED_BY(mutex_);
  bool without_nccl_ ARGOSY_GUARDED_BY(mutex_) = false;
};

// The collectives of any devices, some of which are GPUs: GpuGroup's; where a rank's memory is the host's, all pass
// through that, and the host waits. Has no state.
GroupBackend& gpu_group_backend();

}  // namespace argosy::cuda
