#include "argosy/comm/native_gpu/gpu_group.h"

#include <cstdlib>
#include <set>

#include "argosy/base/log.h"
#include "argosy/device/cuda/links.h"
#include "argosy/device/cuda/cuda_launch_queue.h"

namespace argosy::cuda {

namespace {

// One group for one set of devices, by their cores: a device that is gone may have left its address to another.
struct Kept {
  Mutex mutex;
  std::vector<std::shared_ptr<Core>> cores ARGOSY_GUARDED_BY(mutex);
  std::shared_ptr<CardGroup> group ARGOSY_GUARDED_BY(mutex);
};

const NcclAvailable& nccl_of(CudaDevice& device) {
  const auto held = links_of(device)->shared("nccl", [&] {
    return std::make_shared<NcclAvailable>(
        device.vendor_libraries() ? Nccl::open()
                                  : NcclAvailable(unavailable("no library of NVIDIA's is looked for here")));
  });
  return *static_cast<const NcclAvailable*>(held.get());
}

}  // namespace

std::shared_ptr<CardGroup> CardGroup::of(const std::vector<CudaDevice*>& devices) {
  std::string key = "collectives of";
  std::vector<std::shared_ptr<Core>> cores;
  for (CudaDevice* const device : devices) {
    key += " " + device->spec().name.short_string();
    cores.push_back(core_of(*device));
  }
  const auto held = devices[0]->keep(key, [] { return std::make_shared<Kept>(); });
  auto& kept = *static_cast<Kept*>(held.get());
  MutexLock lock(kept.mutex);
  if (kept.group == nullptr || kept.cores != cores) {
    kept.group = std::make_shared<CardGroup>(devices);
    kept.cores = std::move(cores);
  }
  return kept.group;
}

CollectiveChoice CardGroup::choose(const std::vector<CudaDevice*>& devices, bool fixed_order) {
  CollectiveSituation situation{.ranks = static_cast<int>(devices.size()), .fixed_order = fixed_order};
  std::set<CuDevice> cards;
  for (CudaDevice* const device : devices) {
    if (device == nullptr) {
      situation.only_cards = false;
    } else {
      cards.insert(core_of(*device)->card());
      situation.fixed_order = situation.fixed_order || device->math().deterministic;
    }
  }
  situation.cards = static_cast<int>(cards.size());
  if (const char* const setting = std::getenv("ARGOSY_COLLECTIVES"); setting != nullptr) situation.setting = setting;
  if (situation.only_cards) situation.nccl = nccl_of(*devices[0]).status();
  return choose_collectives(situation);
}

std::string CardGroup::describe(const std::vector<CudaDevice*>& devices, bool fixed_order) {
  const CollectiveChoice choice = choose(devices, fixed_order);
  switch (choice.way) {
    case CollectiveWay::kHost: return str_cat("by the host (", choice.reason, ")");
    case CollectiveWay::kNccl: return str_cat("NCCL (", choice.reason, ")");
    case CollectiveWay::kOwn: break;
  }
  return str_cat("our own (", choice.reason, ")");
}

Result<std::vector<Event>> CardGroup::start(std::span<const CollectiveCall> calls, std::span<const Event> ready,
                                            bool fixed_order, std::shared_ptr<Alarm> alarm) {
  std::shared_ptr<CardCollectives> own;
  std::shared_ptr<NcclCollectives> nccl;
  {
    MutexLock lock(mutex_);
    if (!without_nccl_ && nccl_ == nullptr && choose(devices_, false).way == CollectiveWay::kNccl) {
      nccl_ = NcclCollectives::make(*nccl_of(*devices_[0]), devices_);
    }
    if (own_ == nullptr) own_ = own_collectives(devices_);
    own = own_;
    if (!without_nccl_) nccl = nccl_;
  }
  if (nccl != nullptr && choose(devices_, fixed_order).way == CollectiveWay::kNccl && NcclCollectives::takes(calls)) {
    Result<std::vector<Event>> started = nccl->start_watched(calls, ready, std::move(alarm));
    if (started.ok() || started.status().id() != "ARG-COMM-006") return started;
    ARGOSY_LOG(kWarning, started.status().message(), "; our own collectives take its place");
    MutexLock lock(mutex_);
    without_nccl_ = true;
  }
  return own->start(calls, ready);
}

}  // namespace argosy::cuda
