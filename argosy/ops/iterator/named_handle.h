// IteratorHandle: the handle that a node of a named iterator returns. As in TensorFlow, a node makes an iterator that
// its name lacks only once per session. A deleted iterator stays deleted for the node, until another node or session
// makes one of that name. Internal to the family.
//
// Without "shared_name" the iterator belongs to the node and the session, and goes with it (own_iterators.h).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "argosy/base/mutex.h"
#include "argosy/op/kernel/kernel.h"
#include "argosy/op/state/resource_manager.h"
#include "argosy/ops/iterator/handle_texts.h"
#include "argosy/ops/iterator/own_iterators.h"

namespace argosy::datasets {

// Where a session's node has made its iterator, and under which name. The node's kernels in all steps share this.
// Thread-safe.
class MadeIn final : public Resource {
 public:
  // `own`: the iterator belongs to the session.
  MadeIn(std::string container, std::string_view name, bool own)
      : container_(std::move(container)),
        name_(own ? OwnIterators::all().new_name(name) : std::string(name)),
        own_(own) {}
  ~MadeIn() override {
    if (own_) OwnIterators::all().remove(name_);
  }
  MadeIn(const MadeIn&) = delete;
  MadeIn& operator=(const MadeIn&) = delete;
  std::string describe() const override { return "where an iterator was made"; }
  const std::string& container() const { return container_; }
  const std::string& name() const { return name_; }

  bool is(const ResourceManager& manager) const {
    MutexLock lock(mutex_);
    return manager_ == &manager;
  }
  void set(const ResourceManager& manager) {
    MutexLock lock(mutex_);
    manager_ = &manager;
  }

 private:
  const std::string container_, name_;
  const bool own_;
  mutable Mutex mutex_;
  const ResourceManager* manager_ ARGOSY_GUARDED_BY(mutex_) = nullptr;  // only compared: it may no longer exist
};

// Makes the handle of a node with the attributes "container" and "shared_name". Thread-safe.
class IteratorHandle {
 public:
  explicit IteratorHandle(const KernelInit& init) {
    std::string container = init.attrs.get_string("container");
    if (container.empty()) container = "localhost";
    const std::string& shared = init.attrs.get_string("shared_name");
    if (shared.empty()) own_ = init.session;
    const std::string_view name = shared.empty() ? std::string_view(init.node) : std::string_view(shared);
    const auto make = [&] { return std::make_shared<MadeIn>(container, name, own_ != nullptr); };
    if (init.session != nullptr) {
      const std::string node = str_cat(container, kSeparator, shared, kSeparator, init.node);
      auto found = init.session->find_or_make<MadeIn>("iterators_made", node, make);
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
    ResourceManager& manager = own_ != nullptr ? *own_ : c.resources();
    const std::uint64_t generation = manager.generation();
    if (handle_.valid() && manager_ == &manager && generation_ == generation) return handle_;
    before = std::exchange(handle_, Tensor());
    const std::string &container = made_->container(), &name = made_->name();
    const bool made = made_->is(manager);
    auto state = made ? manager.find<State>(container, name) : manager.find_or_make<State>(container, name, make);
    if (made && state.status().code() == Code::kNotFound) {
      const std::shared_ptr<State> gone = make();
      gone->release_contents();
      return Tensor::scalar(ResourceHandle(container, name, gone));
    }
    ARGOSY_RETURN_IF_ERROR(state.status());
    ARGOSY_RETURN_IF_ERROR(check(**state));
    made_->set(manager);
    if (own_ != nullptr) OwnIterators::all().add(name, *state, own_);
    handle_ = Tensor::scalar(ResourceHandle(container, name, *std::move(state)));
    manager_ = &manager;
    generation_ = generation;
    return handle_;
  }

 private:
  std::shared_ptr<ResourceManager> own_;  // the session's manager, if there is no shared name
  std::shared_ptr<MadeIn> made_;
  Mutex mutex_;
  Tensor handle_ ARGOSY_GUARDED_BY(mutex_);  // valid while the manager has deleted nothing since
  const ResourceManager* manager_ ARGOSY_GUARDED_BY(mutex_) = nullptr;
  std::uint64_t generation_ ARGOSY_GUARDED_BY(mutex_) = 0;
};

}  // namespace argosy::datasets
