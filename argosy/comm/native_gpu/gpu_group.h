// GpuGroup: the collectives of one set of GPUs, by NCCL or the native backend. The first device owns it from step to
// step.
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
  // Returns the group of these devices, by rank; makes it at the first call. They must be alive whenever it is used.
  static std::shared_ptr<GpuGroup> of(const std::vector<CudaDevice*>& devices);
  // Returns choose_collectives() for these devices, by rank. A null device is a rank in host memory.
  static CollectiveChoice choose(const std::vector<CudaDevice*>& devices, bool ordered);
  // The same for one task's devices in a group of `ranks` over tasks, each with GPUs of its own.
  static CollectiveChoice choose_over_tasks(const std::vector<CudaDevice*>& devices, int ranks, bool ordered);
  // The first for people: "our own (the order of the sum is fixed)".
  static std::string describe(const std::vector<CudaDevice*>& devices, bool ordered);

  explicit GpuGroup(std::vector<CudaDevice*> devices) : devices_(std::move(devices)) {}
  // Uses NCCL only if the calls leave the order of additions open, or $ARGOSY_COLLECTIVES asks for it. If NCCL cannot
  // connect these GPUs, the native backend takes over from then on. Rank r of the calls is on device r.
  Result<std::vector<Event>> start(std::span<const CollectiveCall> calls,
                                   const std::shared_ptr<StepAbort>& step_abort) override;

 private:
  const std::vector<CudaDevice*> devices_;
  Mutex mutex_;
  std::shared_ptr<GpuCollectives> native_ ARGOSY_GUARDED_BY(mutex_);
  std::shared_ptr<NcclCollectives> nccl_ ARGOSY_GUARDED_BY(mutex_);
  bool without_nccl_ ARGOSY_GUARDED_BY(mutex_) = false;
};

// The backend for devices of which some are GPUs. It uses GpuGroup if all ranks are on GPUs. If a rank's memory is the
// host's, all data pass through host memory, and the host waits. Stateless.
GroupBackend& gpu_group_backend();

}  // namespace argosy::cuda
