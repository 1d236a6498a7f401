// Session::Impl: a session's devices, compiled steps and runs. Internal to runtime/session. Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>

#include "argosy/runtime/device_set/deadlines.h"
#include "argosy/runtime/device_set/trace.h"
#include "argosy/runtime/device_set/watchdog.h"
#include "argosy/runtime/session/active_runs.h"
#include "argosy/runtime/session/session.h"
#include "argosy/runtime/session/step_cache.h"

namespace argosy {

// Finds the step for feeds of these shapes, or compiles it.
class StepSource {
 public:
  virtual ~StepSource() = default;
  virtual Result<std::shared_ptr<ExecutableStep>> find(std::span<const Tensor> feeds) = 0;
};

class Session::Impl {
 public:
  class SessionCallable;  // argosy/runtime/session/session_callable.h

  Impl(const Graph& graph, SessionOptions options);

  const Status& status() const { return status_; }
  DeviceSet& device_set() const { return *device_set_; }
  ResourceManager& op_state() const { return *op_state_; }
  StepCache& steps() { return steps_; }

  // As StepCache::signature(); an error of the session comes first.
  Result<StepSignature> signature(std::span<const Value> feeds, const std::vector<Value>& fetches,
                                  const std::vector<Value>& targets, const Connections& connections = {},
                                  const std::vector<Value>& ran = {}) const {
    ARGOSY_RETURN_IF_ERROR(Status(status_));
    return steps_.signature(feeds, fetches, targets, connections, ran);
  }

  // Runs `known` once, within the run's deadline. Where it is null, runs the step that `source` finds. Both outlive the
  // call.
  Status run(ExecutableStep* known, StepSource& source, std::span<const Tensor> feeds, std::span<Tensor> fetches,
             const RunOptions& options);

  // Compiles the step for these shapes, for inspection only: it must not be run.
  Result<std::shared_ptr<const Step>> inspect(const std::vector<std::pair<Value, Shape>>& feeds,
                                              const std::vector<Value>& fetches, const std::vector<Value>& targets,
                                              const Connections& connections);

  // As Session::begin_close() and close().
  void begin_close();
  Status close();
  // Waits for the runs that close() did not wait for.
  void wait();

 private:
  Status run_keyed(ExecutableStep& step, std::span<const Tensor> feeds, std::span<Tensor> fetches, RunContext& context);
  DeviceRequest requested() const;
  Status open_trace();

  const SessionOptions options_;
  Status status_;
  std::shared_ptr<DeviceSet> device_set_;
  // State that ops keep between runs, on whichever device: queues without a shared name, streams of random numbers.
  const std::shared_ptr<ResourceManager> op_state_;
  std::shared_ptr<TraceWriter> trace_;  // null: none
  Deadlines deadlines_;
  Watchdog watchdog_;
  std::atomic<std::int64_t> next_step_;
  StepCache steps_;
  ActiveRuns runs_;
};

}  // namespace argosy
