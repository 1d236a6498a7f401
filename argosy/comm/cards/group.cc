#include "argosy/comm/cards/group.h"

#include <cstdlib>
#include <set>

namespace argosy::cuda {

namespace {

// One group for one set of devices, by their cores: a device that is gone may have left its address to another.
struct Kept {
  Mutex mutex;
  std::vector<std::shared_ptr<Core>> cores ARGOSY_GUARDED_BY(mutex);
  std::shared_ptr<CardGroup> group ARGOSY_GUARDED_BY(mutex);
};

}  // namespace

std::shared_ptr<CardGroup> CardGroup::of(const std::vector<CudaDevice*>& devices) {
  std::string key = "collectives of";
  std::vector<std::shared_ptr<Core>> cores;
  for (const CudaDevice* const device : devices) {
    key += " " + device->spec().name.short_string();
    cores.push_back(device->core());
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
  for (const CudaDevice* const device : devices) {
    if (device == nullptr) {
      situation.only_cards = false;
    } else {
      cards.insert(device->core()->card());
      situation.fixed_order = situation.fixed_order || device->math().deterministic;
    }
  }
  situation.cards = static_cast<int>(cards.size());
  if (const char* const setting = std::getenv("ARGOSY_COLLECTIVES"); setting != nullptr) situation.setting = setting;
  situation.nccl = unavailable("this build has no NCCL");
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

std::shared_ptr<CardCollectives> CardGroup::collectives(bool) {
  MutexLock lock(mutex_);
  if (own_ == nullptr) own_ = own_collectives(devices_);
  return own_;
}

Result<std::vector<Event>> CardGroup::start(std::span<const CollectiveCall> calls, std::span<const Event> ready,
                                            bool fixed_order) {
  return collectives(fixed_order)->start(calls, ready);
}

}  // namespace argosy::cuda
