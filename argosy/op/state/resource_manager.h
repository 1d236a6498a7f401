// ResourceManager: the resources of one device, by container and name. They outlive steps and sessions. Thread-safe.
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
  // Has one container of its own, and passes calls for all others on to `around`. For the state of one use of a
  // function.
  ResourceManager(std::shared_ptr<ResourceManager> around, std::string own_container)
      : around_(std::move(around)), own_container_(std::move(own_container)) {}

  // Returns the resource of this name; `make` creates it if there is none. INVALID_ARGUMENT: it has another type.
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
  // NOT_FOUND: there is none. INVALID_ARGUMENT: it has another type.
  template <typename T>
  Result<std::shared_ptr<T>> find(const std::string& container, const std::string& name) const {
    if (is_of_around(container)) return around_->find<T>(container, name);
    MutexLock lock(mutex_);
    const auto found = resources_.find({container, name});
    if (found == resources_.end())
      return not_found("there is no resource \"", name, "\" in container \"", container, "\"");
    return as<T>(found->second, name);
  }
  // Increases whenever a resource is removed. A cached handle is still valid if the generation is unchanged.
  std::uint64_t generation() const {
    return generation_.load(std::memory_order_acquire) + (around_ != nullptr ? around_->generation() : 0);
  }
  // Removes a resource; a Holder (argosy/op/state/holder.h) that is not in use releases its handles. NOT_FOUND: there
  // is none.
  Status remove(const std::string& container, const std::string& name);
  // Empties one container, or all of its own (""). Every Holder that it removes releases its handles.
  void clear(const std::string& container = "");
  // Returns (name, resource) of everything in one container, or in all of its own (""), sorted.
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
