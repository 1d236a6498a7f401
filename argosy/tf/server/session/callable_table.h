// CallableTable: the callables of a session by handle, made by MakeCallable and released by ReleaseCallable.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/formats/proto/config.pb.h"
#include "argosy/tf/server/session/resolved_step.h"

namespace argosy::tf {

// A step, and the options of every run of it.
struct MadeCallable {
  std::shared_ptr<ResolvedStep> step;
  std::vector<std::size_t> fetches;  // by requested fetch: its index among the step's; a name may be requested twice
  tensorflow::RunOptions options;
};

// Thread-safe.
class CallableTable {
 public:
  // Makes a callable and returns its handle. UNIMPLEMENTED: options that this server does not support.
  Result<std::int64_t> make(Session& session, ImportedGraph& graph, const tensorflow::CallableOptions& options)
      ARGOSY_EXCLUDES(mutex_);
  // INVALID_ARGUMENT (ARG-RPC-002): no such handle. The same for release().
  Result<std::shared_ptr<MadeCallable>> find(std::int64_t handle) const ARGOSY_EXCLUDES(mutex_);
  Status release(std::int64_t handle) ARGOSY_EXCLUDES(mutex_);
  void clear() ARGOSY_EXCLUDES(mutex_);

 private:
  mutable Mutex mutex_;
  std::map<std::int64_t, std::shared_ptr<MadeCallable>> callables_ ARGOSY_GUARDED_BY(mutex_);
  std::int64_t next_ ARGOSY_GUARDED_BY(mutex_) = 1;
};

}  // namespace argosy::tf
