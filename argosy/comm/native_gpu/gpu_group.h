// The collectives of one set of GPUs, whoever does them. Kept by the first of the devices, from step to step.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "argosy/comm/native_gpu/collective_choice.h"
#include "argosy/comm/native_gpu/gpu_collectives.h"
#include "argosy/comm/native_gpu/rank_streams.h"
#include "argosy/comm/nccl/nccl.h"

namespace argosy::cuda {

class GpuGroup {
 public:
  // By rank. The devices are alive whenever the group is used.
  static std::shared_ptr<GpuGroup> of(const std::vector<CudaDevice*>& devices);
  // What choose_collectives() says for these devices; a null device is none of a GPU's.
  static CollectiveChoice choose(const std::vector<CudaDevice*>& devices, bool deterministic);
  // The same for people: "our own (the order of the sum is fixed)".
  static std::string describe(const std::vector<CudaDevice*>& devices, bool deterministic);

  explicit GpuGroup(std::vector<CudaDevice*> devices) : devices_(std::move(devices)) {}
  // As GpuCollectives::start(). `deterministic`: in the order of argosy/comm/combine.h. `step_abort` is called where what was
  // started does not end. Where NCCL cannot connect these GPUs our own do it, from then on.
  Result<std::vector<Event>> start(std::span<const CollectiveCall> calls, std::span<const Event> ready,
                                   bool deterministic, std::shared_ptr<StepAbort> step_abort = nullptr);

 private:
  const std::vector<CudaDevice*> devices_;
  Mutex mutex_;
  std::shared_ptr<GpuCollectives> native_ ARGOSY_GUARDED_BY(mutex_);
  std::shared_ptr<NcclCollectives> nccl_ ARGOSY_GUARDED_BY(mutex_);
  bool without_nccl_ ARGOSY_GUARDED_BY(mutex_) = false;
};

}  // namespace argosy::cuda
