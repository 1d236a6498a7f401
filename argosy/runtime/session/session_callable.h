// SessionCallable: a session's step that is run many times. Internal to runtime/.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "argosy/base/guard.h"
#include "argosy/base/mutex.h"
#include "argosy/runtime/execute/executable_step.h"
#include "argosy/runtime/session/session.h"

namespace argosy {

// Remembers the step of the feed shapes seen last: the common case is one comparison per feed.
class SessionCallable final : public Session::Callable {
 public:
  using Lookup = std::function<Result<std::shared_ptr<ExecutableStep>>(std::span<const Tensor>)>;
  using Run = std::function<Status(ExecutableStep*, const Lookup&, std::span<const Tensor>, std::span<Tensor>,
                                   const RunOptions&)>;
  SessionCallable(std::size_t feeds, std::size_t fetches, Lookup lookup, Run run)
      : feeds_(feeds),
        fetches_(fetches),
        run_(std::move(run)),
        lookup_([this, look = std::move(lookup)](auto values) { return remember(values, look(values)); }) {}

  Status run(std::span<const Tensor> feeds, std::span<Tensor> fetches, const RunOptions& options) override {
    return guarded([&] { return run_unguarded(feeds, fetches, options); });
  }

 private:
  Status run_unguarded(std::span<const Tensor> feeds, std::span<Tensor> fetches, const RunOptions& options) {
    if (feeds.size() != feeds_ || fetches.size() != fetches_) {
      return invalid_argument("prepared for ", feeds_, " feeds and ", fetches_, " fetches, was given ", feeds.size(),
                              " and ", fetches.size());
    }
    const std::shared_ptr<ExecutableStep> last = remembered(feeds);
    return run_(last.get(), lookup_, feeds, fetches, options);
  }

  struct Kind {
    DType dtype;
    Shape shape;
  };
  Result<std::shared_ptr<ExecutableStep>> remember(std::span<const Tensor> feeds,
                                                   Result<std::shared_ptr<ExecutableStep>> found) {
    if (!found.ok()) return found;
    MutexLock lock(mutex_);
    last_ = *found;
    last_feeds_.clear();
    for (const Tensor& t : feeds) last_feeds_.push_back({t.dtype(), t.shape()});
    return found;
  }
  std::shared_ptr<ExecutableStep> remembered(std::span<const Tensor> feeds) {
    MutexLock lock(mutex_);
    if (last_ == nullptr) return nullptr;
    for (std::size_t i = 0; i < feeds.size(); ++i) {
      if (feeds[i].dtype() != last_feeds_[i].dtype || !(feeds[i].shape() == last_feeds_[i].shape)) return nullptr;
    }
    return last_;
  }

  const std::size_t feeds_, fetches_;
  const Run run_;
  const Lookup lookup_;
  Mutex mutex_;
  std::shared_ptr<ExecutableStep> last_ ARGOSY_GUARDED_BY(mutex_);
  std::vector<Kind> last_feeds_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy
