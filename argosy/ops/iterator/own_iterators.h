// OwnIterators: this process's iterators that belong to one session each, by name. Their texts find them in every
// session, as in TensorFlow. Internal to the family.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "argosy/base/mutex.h"
#include "argosy/base/str.h"
#include "argosy/op/state/resource_manager.h"

namespace argosy::datasets {

// Thread-safe.
class OwnIterators {
 public:
  static OwnIterators& all() {
    static OwnIterators iterators;
    return iterators;
  }

  // A name that no other call returns.
  std::string new_name(std::string_view node) {
    MutexLock lock(mutex_);
    return str_cat("_", next_++, "_", node);
  }
  // `session`: its manager, which keeps the iterator alive.
  void add(const std::string& name, const std::shared_ptr<Resource>& iterator,
           const std::shared_ptr<ResourceManager>& session) {
    MutexLock lock(mutex_);
    by_name_[name] = {iterator, session};
  }
  void remove(const std::string& name) {
    MutexLock lock(mutex_);
    by_name_.erase(name);
  }
  // Null: it has gone with its session, or is of another type.
  template <typename State>
  std::shared_ptr<State> find(const std::string& name) {
    MutexLock lock(mutex_);
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : std::dynamic_pointer_cast<State>(found->second.iterator.lock());
  }
  // The manager of the session whose iterator has the name; null: none has.
  std::shared_ptr<ResourceManager> session_of(const std::string& name) {
    MutexLock lock(mutex_);
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second.session.lock();
  }

 private:
  struct Own {
    std::weak_ptr<Resource> iterator;
    std::weak_ptr<ResourceManager> session;
  };
  Mutex mutex_;
  std::uint64_t next_ ARGOSY_GUARDED_BY(mutex_) = 0;
  std::map<std::string, Own> by_name_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy::datasets
