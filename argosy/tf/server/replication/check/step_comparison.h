// StepComparison: compares what a replicated step returned and wrote with one device's values. Internal to the session
// server.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "argosy/strategy/data_parallel/step_equivalence.h"
#include "argosy/tf/server/replication/check/step_check.h"
#include "argosy/tf/server/session/session_state.h"

namespace argosy::tf {

// A step run on one device.
struct AloneRun {
  std::vector<Tensor> given;             // fetches, then losses
  SessionState::Values before, written;  // variables before and after the step
};

// Runs the step from nudged variables and restores the state. `like`: the run from the variables themselves. Nothing if
// the step fails from the nudged ones.
Result<std::optional<AloneRun>> run_nudged(const SessionState& state, const AloneRun& like, DType computed_in, int k,
                                           const StepCheck::Run& alone);

class StepComparison {
 public:
  // `names`: of the returned values. Not compared are summaries, and losses whose `given` is not valid().
  StepComparison(const std::vector<std::string>& names, const std::vector<bool>& summaries, std::size_t fetches,
                 const AloneRun& one, std::span<const Tensor> given);
  // Adds what the replicated step has written. Call it before the state is restored. `state`: before the step.
  Status add_written(const SessionState& state, const AloneRun& one);

  void add_noise(const AloneRun& nudged);

  // One text per difference: "'v' is 3, on one device 2, …".
  std::vector<std::string> differences(DType computed_in) const;
  // The first value that is nothing but rounding noise; "": none.
  std::string noisy(DType computed_in) const;

 private:
  struct Entry {
    StepValue value;
    int given = -1;     // index of the returned value; -1: a written variable
    std::string where;  // " on GPU:1" for a mirror
  };
  void add_variable(const std::string& name, Tensor got, std::string where, const AloneRun& one,
                    const SessionState::Values& before);
  std::vector<Entry> entries_;
};

}  // namespace argosy::tf
