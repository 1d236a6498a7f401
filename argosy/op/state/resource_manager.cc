#include "argosy/op/state/resource_manager.h"

#include "argosy/base/guard.h"
#include "argosy/op/state/holder.h"

namespace argosy {

namespace {

void release_contents(Resource& resource, bool in_use_too) {
  auto* const holder = dynamic_cast<Holder*>(&resource);
  if (holder == nullptr || (!in_use_too && holder->in_use())) return;
  contained("releasing what a resource holds", [&] { holder->release_contents(); });
}

}  // namespace

ResourceManager::~ResourceManager() {
  contained("clearing resources", [&] { clear(); });
}

Status ResourceManager::remove(const std::string& container, const std::string& name) {
  if (is_of_around(container)) return around_->remove(container, name);
  std::shared_ptr<Resource> doomed;  // destroyed after the lock is released
  {
    MutexLock lock(mutex_);
    const auto found = resources_.find({container, name});
    if (found == resources_.end())
      return not_found("there is no resource \"", name, "\" in container \"", container, "\"");
    doomed = std::move(found->second);
    resources_.erase(found);
    generation_.fetch_add(1, std::memory_order_release);
  }
  release_contents(*doomed, false);
  return ok_status();
}

void ResourceManager::clear(const std::string& container) {
  if (!container.empty() && is_of_around(container)) return around_->clear(container);
  decltype(resources_) doomed;  // destroyed after the lock is released
  {
    MutexLock lock(mutex_);
    generation_.fetch_add(1, std::memory_order_release);
    for (auto it = resources_.begin(); it != resources_.end();) {
      const auto at = it++;
      if (container.empty() || at->first.first == container) doomed.insert(resources_.extract(at));
    }
  }
  for (const auto& [key, resource] : doomed) release_contents(*resource, true);
}

std::vector<std::pair<std::string, std::shared_ptr<Resource>>> ResourceManager::list(
    const std::string& container) const {
  if (!container.empty() && is_of_around(container)) return around_->list(container);
  MutexLock lock(mutex_);
  std::vector<std::pair<std::string, std::shared_ptr<Resource>>> all;
  for (const auto& [key, resource] : resources_) {
    if (container.empty() || key.first == container) all.emplace_back(key.second, resource);
  }
  return all;
}

}  // namespace argosy
