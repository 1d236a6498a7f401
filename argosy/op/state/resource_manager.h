// ResourceManager: what outlives steps and sessions, by container and name, on one device. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/base/status.h"
#include "argosy/tensor/resource.h"

namespace argosy {

class ResourceManager {
 public:
  ResourceManager() = default;
  ~ResourceManager();  // clears its own containers
  // One container of its own; all others are those of `around`: what one use of a function keeps, in a session.
  ResourceManager(std::shared_ptr<ResourceManager> around, std::string own_container)
      : around_(std::move(around)), own_container_(std::move(own_container)) {}

  // The resource of this name, made by `make` when there is none. INVALID_ARGUMENT when it is of another type.
  template <typename T>
  Result<std::shared_ptr<T>> find_or_make(const std::string& container, const std::string& name,
                                          const std::function<std::shared_ptr<T>()>& make) {
    if (is_of_around(container)) return around_->find_or_make<T>(container, name, make);
    MutexLock lock(mutex_);
    const std::pair key(container, name);
    if (const auto found = resources_.find(key); found != resources_.end()) return as<T>(found->second, name);
    std::shared_ptr<T> made = make();  // where this throws, no name is left behind
    resources_.emplace(key, made);
    return made;
  }
  // NOT_FOUND when there is none.
  template <typename T>
  Result<std::shared_ptr<T>> find(const std::string& container, const std::string& name) const {
    if (is_of_around(container)) return around_->find<T>(container, name);
    MutexLock lock(mutex_);
    const auto found = resources_.find({container, name});
    if (found == resources_.end())
      return not_found("there is no resource \"", name, "\" in container \"", container, "\"");
    return as<T>(found->second, name);
  }
  // Grows whenever a resource goes: what a cached handle compares, to know that it is still the one by its name.
  std::uint64_t generation() const {
    return generation_.load(std::memory_order_acquire) + (around_ != nullptr ? around_->generation() : 0);
  }
  // NOT_FOUND where there is none. What goes lets go of handles that it holds (argosy/op/state/holder.h), unless it is in
  // use.
  Status remove(const std::string& container, const std::string& name);
  // Empties one container, or all ("") but those of a manager around it. All that goes lets go of handles that it holds.
  void clear(const std::string& container = "");
  // (name, resource) of everything in a container, or of all (""), sorted. Those of a manager around it are not among
  // all.
  std::vector<std::pair<std::string, std::shared_ptr<Resource>>> list(const std::string& container = "") const;

 private:
  template <typename T>
  static Result<std::shared_ptr<T>> as(const std::shared_ptr<Resource>& resource, const std::string& name) {
    auto typed = std::dynamic_pointer_cast<T>(resource);
    if (!typed)
      return invalid_argument("resource \"", name, "\" is a ", resource->describe(),
                              ", which is not the type asked for");
    return typed;
  }

  bool is_of_around(const std::string& container) const { return around_ != nullptr && container != own_container_; }

  const std::shared_ptr<ResourceManager> around_;  // null: all containers are its own
  const std::string own_container_;
  std::atomic<std::uint64_t> generation_{0};
  mutable Mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<Resource>> resources_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy
