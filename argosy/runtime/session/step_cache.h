// StepCache: the compiled steps of a session, and the lock of the session's graph: the graph is read and changed only
// under it. A step's key is its StepSignature without shapes, then the shapes of the feeds. Thread-safe. In an
// InterruptScope a call that waits for the graph ends with its step: mutate_graph() returns the reason, the others
// throw Interrupted.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/passes/simplify/prune.h"
#include "argosy/runtime/compile/step_compiler.h"
#include "argosy/runtime/execute/executable_step.h"
#include "argosy/runtime/session/interruptible_mutex.h"

namespace argosy {

class StepCache {
 public:
  // All arguments must outlive this object; `device_set` may be null until the first call. `op_state`: the state
  // that ops keep between runs.
  StepCache(const Graph& graph, const SessionOptions& options, const std::shared_ptr<DeviceSet>& device_set,
            const std::shared_ptr<ResourceManager>& op_state)
      : graph_(graph), compiler_(graph, options, device_set, op_state) {}

  // Returns the signature of a request; its `feed_shapes` are empty. INVALID_ARGUMENT when a value is none of the graph
  // ("ARG-RUN-001") or is fed or connected twice ("ARG-FEED-003").
  Result<StepSignature> signature(std::span<const Value> feeds, const std::vector<Value>& fetches,
                                  const std::vector<Value>& targets, const Connections& connections = {},
                                  const std::vector<Value>& ran = {}) const;
  // INVALID_ARGUMENT "ARG-FEED-004" when a tensor has another dtype than the value that it is fed to.
  Status check_feeds(const StepSignature& asked, std::span<const Tensor> feeds) const;

  // Returns the step for these feed shapes, and compiles it if it is new. Beyond 16 shapes of one signature, one step
  // that knows no feed shape serves all others. CANCELLED "ARG-RUN-002" after close().
  Result<std::shared_ptr<ExecutableStep>> find_or_compile(const StepSignature& asked, std::span<const Tensor> feeds);
  // Compiles a step that is not kept and cannot be run. `asked` has its feed shapes.
  Result<std::shared_ptr<const Step>> compile_for_inspection(const StepSignature& asked) const;

  // Calls `change`, which may add to the graph. Must not be called from inside `change`. In an InterruptScope whose
  // step ends while this waits, it returns the reason without calling `change`.
  Status mutate_graph(const std::function<Status()>& change);

  // While one lives, no other thread can have one. Threads that want the same step so compile it once. Throws
  // Interrupted.
  class CompileTurn {
   public:
    explicit CompileTurn(StepCache& cache) : lock_(cache.compiling_) {}

   private:
    InterruptibleLock lock_;
  };

  // No step is found or compiled any more.
  void close();
  // Forgets all steps. REQUIRES: none runs.
  void clear();

 private:
  // Orders signatures without regard to shapes.
  struct SameValues {
    bool operator()(const StepSignature& a, const StepSignature& b) const {
      return std::tie(a.feeds, a.fetches, a.targets, a.connections, a.ran) <
             std::tie(b.feeds, b.fetches, b.targets, b.connections, b.ran);
    }
  };
  using Variants = std::map<std::string, std::shared_ptr<ExecutableStep>>;  // by the shapes of the feeds, as text

  Status check(std::span<const Endpoint> endpoints) const ARGOSY_REQUIRES(graph_mutex_);
  // Returns the compiled step; null: it must be compiled for the shapes in `wanted` and stored under `key`, both of
  // which may have been changed.
  Result<std::shared_ptr<ExecutableStep>> find(StepSignature& wanted, std::string& key);

  const Graph& graph_;
  InterruptibleMutex compiling_;            // some thread has its CompileTurn; taken before graph_mutex_
  mutable InterruptibleMutex graph_mutex_;  // held while the graph is read or changed; taken before mutex_
  mutable StepCompiler compiler_ ARGOSY_GUARDED_BY(graph_mutex_);
  Mutex mutex_;
  bool closed_ ARGOSY_GUARDED_BY(mutex_) = false;
  std::map<StepSignature, Variants, SameValues> steps_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy
