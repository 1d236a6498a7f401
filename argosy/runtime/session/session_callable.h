// SessionCallable: a signature of a session that is run many times. Internal to runtime/session. Thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "argosy/base/guard.h"
#include "argosy/base/mutex.h"
#include "argosy/runtime/session/session_impl.h"

namespace argosy {

// Remembers the step of the first feed shapes, which most callers keep. A run with these only compares shapes: it takes
// no lock and changes no reference count to find its step. The step of the last other shapes costs a lock.
class Session::Impl::SessionCallable final : public Session::Callable, private StepSource {
 public:
  // The session outlives it.
  SessionCallable(Session::Impl& session, StepSignature asked) : session_(session), asked_(std::move(asked)) {}

  Status run(std::span<const Tensor> feeds, std::span<Tensor> fetches, const RunOptions& options) override {
    return guarded([&] { return run_unguarded(feeds, fetches, options); });
  }

 private:
  // A step and the feeds that it is for.
  struct Known {
    std::shared_ptr<ExecutableStep> step;
    std::vector<std::pair<DType, Shape>> feeds;
    bool is_for(std::span<const Tensor> tensors) const {
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        if (tensors[i].dtype() != feeds[i].first || !(tensors[i].shape() == feeds[i].second)) return false;
      }
      return true;
    }
  };

  Status run_unguarded(std::span<const Tensor> feeds, std::span<Tensor> fetches, const RunOptions& options) {
    if (feeds.size() != asked_.feeds.size() || fetches.size() != asked_.fetches.size()) {
      return invalid_argument("prepared for ", asked_.feeds.size(), " feeds and ", asked_.fetches.size(),
                              " fetches, was given ", feeds.size(), " and ", fetches.size());
    }
    const Known* const first = first_.load(std::memory_order_acquire);
    if (first != nullptr && first->is_for(feeds)) [[likely]]
      return session_.run(first->step.get(), *this, feeds, fetches, options);
    const std::shared_ptr<ExecutableStep> last = first != nullptr ? find_last(feeds) : nullptr;
    return session_.run(last.get(), *this, feeds, fetches, options);
  }

  Result<std::shared_ptr<ExecutableStep>> find(std::span<const Tensor> feeds) override {
    ARGOSY_RETURN_IF_ERROR(session_.steps().check_feeds(asked_, feeds));
    ARGOSY_ASSIGN_OR_RETURN(auto step, session_.steps().find_or_compile(asked_, feeds));
    auto known = std::make_unique<Known>(Known{step, {}});
    for (const Tensor& t : feeds) known->feeds.emplace_back(t.dtype(), t.shape());
    MutexLock lock(mutex_);
    std::unique_ptr<Known>& place = first_.load(std::memory_order_relaxed) == nullptr ? owned_first_ : last_;
    place = std::move(known);
    if (&place == &owned_first_) first_.store(place.get(), std::memory_order_release);
    return step;
  }

  std::shared_ptr<ExecutableStep> find_last(std::span<const Tensor> feeds) {
    MutexLock lock(mutex_);
    return last_ != nullptr && last_->is_for(feeds) ? last_->step : nullptr;
  }

  Session::Impl& session_;
  const StepSignature asked_;  // without shapes
  std::atomic<const Known*> first_{nullptr};
  Mutex mutex_;
  std::unique_ptr<Known> owned_first_ ARGOSY_GUARDED_BY(mutex_);  // set once
  std::unique_ptr<Known> last_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy
