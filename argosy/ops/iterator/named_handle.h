// IteratorHandle: the handle that a node of a named iterator returns. As in TensorFlow, a node makes an iterator that
// its name lacks only once per session. A deleted iterator stays deleted for the node, until another node or session
// makes one of that name. Internal to the family.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "argosy/base/mutex.h"
#include "argosy/op/kernel/kernel.h"
#include "argosy/op/state/resource_manager.h"
#include "argosy/ops/iterator/handle_texts.h"

namespace argosy::datasets {

// The resource manager in which a session's node has made its iterator. The node's kernels in all steps share this.
// Thread-safe.
class MadeIn final : public Resource {
 public:
  std::string describe() const override { return "where an iterator was made"; }
  bool is(const ResourceManager& manager) const {
    MutexLock lock(mutex_);
    return manager_ == &manager;
  }
  void set(const ResourceManager& manager) {
    MutexLock lock(mutex_);
    manager_ = &manager;
  }

 private:
  mutable Mutex mutex_;
  const ResourceManager* manager_ ARGOSY_GUARDED_BY(mutex_) = nullptr;  // only compared: it may no longer exist
};

// Makes the handle of a node with the attributes "container" and "shared_name". Thread-safe.
class IteratorHandle {
 public:
  explicit IteratorHandle(const KernelInit& init) : made_(std::make_shared<MadeIn>()) {
    std::tie(container_, name_) = place_of(init);
    if (init.session == nullptr) return;
    const std::string node = str_cat(container_, kSeparator, name_, kSeparator, init.node);
    auto shared = init.session->find_or_make<MadeIn>("iterators_made", node, [this] { return made_; });
    if (shared.ok()) made_ = *std::move(shared);
  }
  const std::string& name() const { return name_; }

  // Returns the handle. `make` makes an iterator; `check` may refuse one that exists. If the node's iterator was
  // deleted, the handle is that of a deleted one.
  template <typename State>
  Result<Tensor> get(KernelContext& c, const std::function<std::shared_ptr<State>()>& make,
                     const std::function<Status(State&)>& check) {
    Tensor before;  // released after the lock: its iterator may end with it, which waits for a thread
    MutexLock lock(mutex_);
    ResourceManager& manager = c.resources();
    const std::uint64_t generation = manager.generation();
    if (handle_.valid() && manager_ == &manager && generation_ == generation) return handle_;
    before = std::exchange(handle_, Tensor());
    const bool made = made_->is(manager);
    auto state = made ? manager.find<State>(container_, name_) : manager.find_or_make<State>(container_, name_, make);
    if (made && state.status().code() == Code::kNotFound) {
      const std::shared_ptr<State> gone = make();
      gone->release_contents();
      return Tensor::scalar(ResourceHandle(container_, name_, gone));
    }
    ARGOSY_RETURN_IF_ERROR(state.status());
    ARGOSY_RETURN_IF_ERROR(check(**state));
    made_->set(manager);
    handle_ = Tensor::scalar(ResourceHandle(container_, name_, *std::move(state)));
    manager_ = &manager;
    generation_ = generation;
    return handle_;
  }

 private:
  std::string container_, name_;
  std::shared_ptr<MadeIn> made_;
  Mutex mutex_;
  Tensor handle_ ARGOSY_GUARDED_BY(mutex_);  // valid while the manager has deleted nothing since
  const ResourceManager* manager_ ARGOSY_GUARDED_BY(mutex_) = nullptr;
  std::uint64_t generation_ ARGOSY_GUARDED_BY(mutex_) = 0;
};

}  // namespace argosy::datasets
