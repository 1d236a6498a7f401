// IteratorHandle: the handle that a node of a named iterator returns. As in TensorFlow, a node makes an iterator that
// its name lacks only once per session. A deleted iterator stays deleted for the node, until another node or session
// makes one of that name. Internal to the family.
//
// Without "shared_name" the iterator belongs to the node and the session, and its contents go with the session. It has a
// name that no other has, so that texts and handles find it in the device's resource manager.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/op/kernel/kernel.h"
#include "argosy/op/state/holder.h"
#include "argosy/op/state/made_on_device.h"
#include "argosy/op/state/resource_manager.h"
#include "argosy/ops/iterator/handle_texts.h"

namespace argosy::datasets {

// Where a session's node has made its iterator, and under which name. The node's kernels in all steps share this.
// Thread-safe.
class MadeIn final : public Resource, public Holder, public MadeOnDevice {
 public:
  // `own`: the iterator belongs to the session. Then its name is one that no other has.
  MadeIn(std::string container, std::string_view name, bool own)
      : container_(std::move(container)), name_(own ? new_name(name) : std::string(name)), own_(own) {}
  std::string describe() const override { return "where an iterator was made"; }
  const std::string& container() const { return container_; }
  const std::string& name() const { return name_; }

  const ResourceManager* manager() const override {
    MutexLock lock(mutex_);
    return manager_;
  }
  void set(const ResourceManager& manager, const std::shared_ptr<Resource>& iterator) {
    MutexLock lock(mutex_);
    manager_ = &manager;
    const auto is_it = [&](const std::weak_ptr<Resource>& known) { return known.lock() == iterator; };
    if (own_ && std::none_of(made_.begin(), made_.end(), is_it)) made_.push_back(iterator);
  }
  // The session ends, and its own iterators with it. Those of devices that ended before are gone.
  void release_contents() override {
    std::vector<std::weak_ptr<Resource>> made;
    {
      MutexLock lock(mutex_);
      made.swap(made_);
    }
    for (const std::weak_ptr<Resource>& one : made) {
      const std::shared_ptr<Resource> iterator = one.lock();
      if (auto* const holder = dynamic_cast<Holder*>(iterator.get())) holder->release_contents();
    }
  }

 private:
  static std::string new_name(std::string_view node) {
    static std::atomic<std::uint64_t> next{0};
    return str_cat("_", next.fetch_add(1, std::memory_order_relaxed), "_", node);
  }

  const std::string container_, name_;
  const bool own_;
  mutable Mutex mutex_;
  const ResourceManager* manager_ ARGOSY_GUARDED_BY(mutex_) = nullptr;  // only compared: it may no longer exist
  std::vector<std::weak_ptr<Resource>> made_ ARGOSY_GUARDED_BY(mutex_);
};

// Makes the handle of a node with the attributes "container" and "shared_name". Thread-safe.
class IteratorHandle {
 public:
  explicit IteratorHandle(const KernelInit& init) {
    std::string container = init.attrs.get_string("container");
    if (container.empty()) container = "localhost";
    const std::string& shared = init.attrs.get_string("shared_name");
    const bool own = shared.empty() && init.op_state != nullptr;
    const std::string_view name = shared.empty() ? std::string_view(init.node) : std::string_view(shared);
    const auto make = [&] { return std::make_shared<MadeIn>(container, name, own); };
    if (init.op_state != nullptr) {
      auto found = init.op_state->find_or_make<MadeIn>(MadeOnDevice::kContainer,
                                                       MadeOnDevice::name_of(container, shared, init.node), make);
      if (found.ok()) made_ = *std::move(found);
    }
    if (made_ == nullptr) made_ = make();
  }
  const std::string& name() const { return made_->name(); }

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
    const std::string &container = made_->container(), &name = made_->name();
    const bool made = made_->manager() == &manager;
    auto state = made ? manager.find<State>(container, name) : manager.find_or_make<State>(container, name, make);
    if (made && state.status().code() == Code::kNotFound) {
      const std::shared_ptr<State> gone = make();
      gone->release_contents();
      return Tensor::scalar(ResourceHandle(container, name, gone));
    }
    ARGOSY_RETURN_IF_ERROR(state.status());
    ARGOSY_RETURN_IF_ERROR(check(**state));
    made_->set(manager, *state);
    handle_ = Tensor::scalar(ResourceHandle(container, name, *std::move(state)));
    manager_ = &manager;
    generation_ = generation;
    return handle_;
  }

 private:
  std::shared_ptr<MadeIn> made_;
  Mutex mutex_;
  Tensor handle_ ARGOSY_GUARDED_BY(mutex_);  // valid while the manager has deleted nothing since
  const ResourceManager* manager_ ARGOSY_GUARDED_BY(mutex_) = nullptr;
  std::uint64_t generation_ ARGOSY_GUARDED_BY(mutex_) = 0;
};

}  // namespace argosy::datasets
