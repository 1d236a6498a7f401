// StepCheck (--check): runs a replicated step also on one device, from the same state, and compares the two. It
// compares returned values, losses, written variables, positions of random streams, and contents of queues and tables.
// Internal to the session server.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "argosy/runtime/session/session.h"
#include "argosy/strategy/data_parallel/data_parallel.h"
#include "argosy/tf/server/replication/replica_totals.h"
#include "argosy/tf/server/session/resolved_step.h"

namespace argosy::tf {

// The id of the error that names the difference. Its code is INTERNAL: on ABORTED a MonitoredSession would restart the
// step for ever.
inline constexpr const char* kOtherThanOneDevice = "ARG-CHECK-001";

struct SingleDeviceRun;  // argosy/tf/server/replication/check/step_comparison.h
class SessionState;      // argosy/tf/server/session/session_state.h
class StepComparison;    // argosy/tf/server/replication/check/step_comparison.h

class StepCheck {
 public:
  // Analyzes the step. The last feeds are the `sources`, which are computed before it runs. Call it inside
  // Session::mutate_graph().
  StepCheck(const Graph& graph, const StepValues& values, const std::vector<Value>& sources,
            const std::vector<Endpoint>& losses);

  // Names of the compared values: fetches, then losses.
  const std::vector<std::string>& names() const { return names_; }
  // True if the step uses state other than variables and random numbers. No other step may run during its check.
  bool uses_containers() const { return uses_containers_; }

  // Returns why the step cannot be checked; empty: it can. Either a node cannot run twice, or the replicated step
  // differs from one device's step by design (`notes`). Call it before run(), once all streams of random numbers exist.
  OneDeviceReason why_not(Session& session, const std::vector<ReplicationNote>& notes) const;

  struct Outcome {
    bool ran = false;             // the replicated step ran; false: it did not, and the state is unchanged
    OneDeviceReason not_checked;  // why it was not compared; empty: it was
  };
  // Runs the step, on one device or replicated, and returns the values of names().
  using Run = std::function<Status(std::span<Tensor> values, StepStats* stats)>;
  // Runs and compares both. INTERNAL "ARG-CHECK-001" names the difference in step `step`; the state is then as before
  // the step. An error of the step on one device is returned as it is, with the state that it left.
  Result<Outcome> run(Session& session, std::int64_t step, const Run& alone, const Run& replicated,
                      std::span<Tensor> values) const;

  // Describes a node that used state more than once in a replicated run, by the record of executed ops: "'x'
  // (QueueDequeueManyV2) ran 2 times"; "": there is none.
  std::string ran_twice(const StepStats& stats) const;

 private:
  // Returns the differences that rounding does not explain, after up to kNoiseRuns perturbed runs. Restores the state
  // that the replicated step left.
  Result<std::vector<std::string>> differences_above_noise(Session& session, const SessionState& state,
                                                           const SingleDeviceRun& one, const Run& alone,
                                                           StepComparison& comparison) const;

  struct Stateful {
    std::string node, op;
    std::vector<std::string> resources;  // names of the resources; for a node with its own state, the node's name
  };
  std::vector<std::string> names_;
  std::size_t fetches_ = 0;              // how many of names_ are fetches
  std::vector<bool> summaries_;          // by name: a summary, whose numbers as text may differ in the last digits
  DType computed_in_ = DType::kInvalid;  // the least precise floating dtype of the step
  std::vector<Stateful> stateful_;       // nodes that keep, take or change state other than variables
  std::set<std::string> sources_;        // nodes that must not run again
  OneDeviceReason unrepeatable_;         // a reason that the graph alone shows
  bool uses_containers_ = false, loops_ = false;
};

}  // namespace argosy::tf
