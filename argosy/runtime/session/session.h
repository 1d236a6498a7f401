// Session: a graph, its devices, and the steps compiled for it. Thread-safe: many run()s at once.
//
//   Session session(graph, {.devices = {.devices = "gpu:0,gpu:1", .emulate = "2"}});
//   Result<std::vector<Tensor>> out = session.run({{x, batch}}, {loss}, {train});
//
// A signature is which values are fed, what is fetched and what is run. The first run with a signature and shapes of
// feeds compiles a Step; later runs go straight to the executor. The graph is borrowed: it must outlive the session,
// may grow between runs, or inside mutate_graph(), and must not change while one is under way.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/op/kernel/kernel.h"
#include "argosy/runtime/device_set/device_set.h"
#include "argosy/runtime/device_set/stats.h"

namespace argosy {

class StuckObserver;  // argosy/runtime/device_set/watchdog.h
class RemoteTasks;    // argosy/runtime/tasks/remote_task.h

struct SessionOptions {
  DeviceRequest devices = {};  // device map, caps, threads, emulation: of this session alone
  // Instead of `devices`: share another session's devices and variables.
  std::shared_ptr<DeviceSet> device_set = nullptr;
  // Instead of cpu_kernels(): a copy with a program's own kernels added. Must outlive the session.
  const KernelRegistry* kernels = nullptr;
  // What ops keep between runs (where random numbers go on, queues without a name) is that session's. It must outlive
  // this one. Null: the session's own.
  const class Session* share_op_state_with = nullptr;
  // The other tasks of the cluster that this session's task is one of: nodes may run on their devices, too. Null: none.
  std::shared_ptr<RemoteTasks> tasks = nullptr;
  bool allow_soft_placement = true;   // an op its device cannot run moves to the CPU, with a reason
  bool log_device_placement = false;  // a summary on stderr when a step is compiled
  bool optimize = true;               // folding, merging, fusion
  std::string without_passes = "";    // some of them left out (passes/optimize.h); "" = $ARGOSY_WITHOUT_PASSES
  bool fetch_handles = false;         // a fetched variable handle stays one; else it is the variable's value
  bool reproducible = false;          // fixed reduction orders, also across device counts

  // A kernel is stuck when it runs on so long after its step should have ended (deadline, cancellation, close()). The
  // log names it, RunOptions::stuck hears of it, and close() no longer waits for it. Zero: never.
  std::chrono::milliseconds stuck_after{10000};
  // Chrome trace of every step. Unset: $ARGOSY_TRACE; "": none. Sessions of one device set share a file.
  std::optional<std::string> trace_path = {};
};

// Of one run.
struct RunOptions {
  std::chrono::milliseconds timeout{0};  // 0: none. DEADLINE_EXCEEDED; the session stays usable
  Cancellation* cancellation = nullptr;  // pull it to end the run: CANCELLED
  StepStats* stats = nullptr;            // filled in when given: costs about 50 ns per op
  StuckObserver* stuck = nullptr;        // hears of a kernel that does not end: see SessionOptions::stuck_after
};

using Feeds = std::vector<std::pair<Value, Tensor>>;  // values, and what they are in this run
// Pairs (to, from) of values: whoever reads `to` in this step reads `from` (argosy/passes/simplify/connect.h).
using Connections = std::vector<std::pair<Value, Value>>;

class Session {
 public:
  // Errors (no such device, memory) are those of status() and of every run().
  explicit Session(const Graph& graph, SessionOptions options = {});
  ~Session();  // closes
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Status& status() const;  // OK, or why the session could not be made

  // Values of `fetches` in order (host memory, the caller's own), after `targets` have run. A fetch may be a control
  // value: then its entry is an invalid Tensor. What is fed is not copied: a queue, list or table may keep it, so write
  // into a clone() of it afterwards.
  Result<std::vector<Tensor>> run(const Feeds& feeds, const std::vector<Value>& fetches,
                                  const std::vector<Value>& targets = {}, const RunOptions& options = {});
  Result<std::vector<Tensor>> run(const std::vector<Value>& fetches) { return run({}, fetches); }  // Nothing is fed.
  // Runs targets only.
  Status run_targets(const std::vector<Value>& targets) { return run({}, {}, targets).status(); }

  // A signature looked up once. `feeds` and what run() returns are in the order given here. Thread-safe.
  class Callable {
   public:
    virtual ~Callable() = default;
    // Feeds and fetches in the order of prepare(). Many threads at once. Only read what is fetched: it may share memory
    // with a variable, a constant or what was fed.
    virtual Status run(std::span<const Tensor> feeds, std::span<Tensor> fetches, const RunOptions& options = {}) = 0;
  };
  // A step that is run many times: looked up once. The session outlives it. `ran`: values whose nodes ran before it, in a
  // step that fetched what is fed here; a node that waits for them waits for nothing.
  Result<std::unique_ptr<Callable>> prepare(const std::vector<Value>& feeds, const std::vector<Value>& fetches,
                                            const std::vector<Value>& targets = {}, const Connections& connections = {},
                                            const std::vector<Value>& ran = {});

  // What a step with this signature and these feed shapes will take, without running it: bytes per device (variables
  // excluded, see variable_bytes()), known before step 0.
  Result<std::vector<MemoryForecast>> forecast(const std::vector<std::pair<Value, Shape>>& feeds,
                                               const std::vector<Value>& fetches, const std::vector<Value>& targets,
                                               const Connections& connections = {});
  // Where every node of that step runs and why.
  Result<PlacementReport> placement(const std::vector<std::pair<Value, Shape>>& feeds,
                                    const std::vector<Value>& fetches, const std::vector<Value>& targets,
                                    const Connections& connections = {});

  // Runs `change`, which may add to the graph, while no run looks at it: runs of compiled steps go on, others wait.
  // Returns what it returns. Must not be called from inside `change`. In an InterruptScope whose step ends while this
  // waits, returns why it ended, and `change` is not called.
  Status mutate_graph(const std::function<Status()>& change);

  DeviceSet& device_set() const;  // that its steps run on
  // What its ops keep between runs (argosy/op/state/session_op_state.h): streams of random numbers and the like, and
  // what has no name.
  ResourceManager& op_state() const;
  // Ends every run under way (CANCELLED), waits for them, gives compiled steps and their memory back. Devices go with
  // the last session of the device set. DEADLINE_EXCEEDED "ARG-STUCK-002", and nothing is given back, when a kernel
  // does not end (SessionOptions::stuck_after): the destructor waits for it.
  Status close();
  // Ends every run under way (CANCELLED) and refuses new ones, as close(), but does not wait. With it many sessions
  // close in the time of one: begin_close() of each, then close() of each.
  void begin_close();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace argosy
