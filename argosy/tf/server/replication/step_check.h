// StepCheck: a replicated step beside the same on one device, from the same state (--check): what it gives, its losses,
// what it writes into variables, what it draws and what queues and tables hold afterwards. Internal to the session
// server.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "argosy/runtime/session/session.h"
#include "argosy/strategy/data_parallel/data_parallel.h"
#include "argosy/tf/server/replication/replica_totals.h"
#include "argosy/tf/server/service/resolved_step.h"

namespace argosy::tf {

// The id of the error that names what differs. It is INTERNAL: at ABORTED a MonitoredSession would begin anew, for
// ever.
inline constexpr const char* kOtherThanOneDevice = "ARG-CHECK-001";

struct AloneRun;       // argosy/tf/server/replication/step_comparison.h
class SessionState;    // argosy/tf/server/service/session_state.h
class StepComparison;  // argosy/tf/server/replication/step_comparison.h

class StepCheck {
 public:
  // Looks at the step of these values, of which the last `sources` feeds were had before it runs. To be called where
  // the graph may grow. `sync_batch_norm`: of its replicas.
  StepCheck(const Graph& graph, const StepValues& values, const std::vector<Value>& sources,
            const std::vector<Endpoint>& losses, bool sync_batch_norm);

  // Names of what is compared: fetches, then losses.
  const std::vector<std::string>& names() const { return names_; }
  // It uses more than variables and random numbers: nobody else may be at work meanwhile.
  bool uses_containers() const { return uses_containers_; }

  // Why it cannot be checked: something in it cannot be run twice, or `notes` say that it is not one device's step by
  // design. Nothing when it can. To be asked before run(), once all streams of random numbers are there.
  OneDeviceReason why_not(Session& session, const std::vector<ReplicationNote>& notes) const;

  struct Outcome {
    bool ran = false;             // replicated; else the step is still to be run, and the state is what it was
    OneDeviceReason not_checked;  // why; empty when it was compared
  };
  // What runs the step one way or the other, and gives the values of names().
  using Run = std::function<Status(std::span<Tensor> values, StepStats* stats)>;
  // INTERNAL "ARG-CHECK-001" names what differs, in step `step`; the state is then what it was before the step. An
  // error of the step on one device is returned as it is, and the state is what that has left.
  Result<Outcome> run(Session& session, std::int64_t step, const Run& alone, const Run& replicated,
                      std::span<Tensor> values) const;

  // What took or changed state more than once in a replicated run, from the ops that ran: "'x' (QueueDequeueManyV2) ran
  // 2 times"; else "".
  std::string ran_twice(const StepStats& stats) const;

 private:
  // What rounding does not explain, after up to kNoiseRuns runs. The state is then again what the replicated step has
  // left.
  Result<std::vector<std::string>> differences_above_noise(Session& session, const SessionState& state,
                                                           const AloneRun& one, const Run& alone,
                                                           StepComparison& comparison) const;

  struct Stateful {
    std::string node, op;
    std::vector<std::string> resources;  // by name; of one that keeps what it is: the node's own
  };
  std::vector<std::string> names_;
  std::size_t fetches_ = 0;              // of these, before the losses
  std::vector<bool> summaries_;          // by name: numbers written out, which are not equal to the last digit
  DType computed_in_ = DType::kInvalid;  // the coarsest floating dtype
  std::vector<Stateful> stateful_;       // that keep, take or change more than variables
  std::set<std::string> sources_;        // nodes that are not to run again
  OneDeviceReason unrepeatable_;         // known from the graph alone
  bool uses_containers_ = false, loops_ = false, sync_batch_norm_ = false;
};

}  // namespace argosy::tf
