#include "argosy/comm/native_gpu/gpu_group.h"

#include <cstdlib>
#include <set>

#include "argosy/base/log.h"
#include "argosy/device/cuda/cuda_launch_queue.h"
#include "argosy/device/cuda/links.h"

namespace argosy::cuda {

namespace {

// One group for one set of devices, by their cores: a device that is gone may have left its address to another.
struct Kept {
  Mutex mutex;
  std::vector<std::shared_ptr<DeviceCore>> cores ARGOSY_GUARDED_BY(mutex);
  std::shared_ptr<GpuGroup> group ARGOSY_GUARDED_BY(mutex);
};

}  // namespace

std::shared_ptr<GpuGroup> GpuGroup::of(const std::vector<CudaDevice*>& devices) {
  std::string key = "collectives of";
  std::vector<std::shared_ptr<DeviceCore>> cores;
  for (CudaDevice* const device : devices) {
    key += " " + device->spec().name.short_string();
    cores.push_back(core_of(*device));
  }
  const auto held = devices[0]->keep(key, [] { return std::make_shared<Kept>(); });
  auto& kept = *static_cast<Kept*>(held.get());
  MutexLock lock(kept.mutex);
  if (kept.group == nullptr || kept.cores != cores) {
    kept.group = std::make_shared<GpuGroup>(devices);
    kept.cores = std::move(cores);
  }
  return kept.group;
}

namespace {

CollectiveRequest request_of(const std::vector<CudaDevice*>& devices, bool ordered) {
  CollectiveRequest request{.ranks = static_cast<int>(devices.size()), .ordered = ordered};
  std::set<CuDevice> physical_gpus;
  for (CudaDevice* const device : devices) {
    if (device == nullptr) {
      request.only_gpus = false;
    } else {
      physical_gpus.insert(core_of(*device)->gpu());
      request.deterministic = request.deterministic || device->math().deterministic;
    }
  }
  request.physical_gpus = static_cast<int>(physical_gpus.size());
  if (const char* const setting = std::getenv("ARGOSY_COLLECTIVES"); setting != nullptr) request.setting = setting;
  if (request.only_gpus) request.nccl = nccl_of(*devices[0]).status();
  return request;
}

}  // namespace

CollectiveChoice GpuGroup::choose(const std::vector<CudaDevice*>& devices, bool ordered) {
  return choose_collectives(request_of(devices, ordered));
}

CollectiveChoice GpuGroup::choose_over_tasks(const std::vector<CudaDevice*>& devices, int ranks, bool ordered) {
  CollectiveRequest request = request_of(devices, ordered);
  request.physical_gpus += ranks - request.ranks;
  request.ranks = ranks;
  return choose_collectives(request);
}

std::string GpuGroup::describe(const std::vector<CudaDevice*>& devices, bool ordered) {
  const CollectiveChoice choice = choose(devices, ordered);
  switch (choice.backend) {
    case CollectiveBackend::kHostStaged: return str_cat("by the host (", choice.reason, ")");
    case CollectiveBackend::kNccl: return str_cat("NCCL (", choice.reason, ")");
    case CollectiveBackend::kNative: break;
  }
  return str_cat("our own (", choice.reason, ")");
}

Result<std::vector<Event>> GpuGroup::start(std::span<const CollectiveCall> calls,
                                           const std::shared_ptr<StepAbort>& step_abort) {
  std::shared_ptr<GpuCollectives> native;
  std::shared_ptr<NcclCollectives> nccl;
  {
    MutexLock lock(mutex_);
    if (!without_nccl_ && nccl_ == nullptr && choose(devices_, false).backend == CollectiveBackend::kNccl) {
      nccl_ = NcclCollectives::make(*nccl_of(*devices_[0]), devices_);
    }
    if (native_ == nullptr) native_ = native_collectives(devices_);
    native = native_;
    if (!without_nccl_) nccl = nccl_;
  }
  if (nccl != nullptr && choose(devices_, !calls[0].any_order).backend == CollectiveBackend::kNccl &&
      NcclCollectives::takes(calls)) {
    Result<std::vector<Event>> started = nccl->start(calls, step_abort);
    if (started.ok() || started.status().id() != "ARG-COMM-006") return started;
    ARGOSY_LOG(kWarning, started.status().message(), "; our own collectives take its place");
    MutexLock lock(mutex_);
    without_nccl_ = true;
  }
  return native->start(calls, step_abort);
}

}  // namespace argosy::cuda
