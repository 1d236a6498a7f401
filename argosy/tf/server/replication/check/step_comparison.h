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
struct SingleDeviceRun {
  std::vector<Tensor> outputs;           // fetches, then losses
  SessionState::Values before, written;  // variables before and after the step
};

// Runs the step from perturbed variables and restores the state. `reference`: the run from the unperturbed variables.
// `seed`: of the perturbation. nullopt: the step fails with the perturbed variables.
Result<std::optional<SingleDeviceRun>> run_perturbed(const SessionState& state, const SingleDeviceRun& reference,
                                                     DType computed_in, int seed, const StepCheck::Run& alone);

class StepComparison {
 public:
  // `names`: of the returned values. Does not compare summaries, and losses whose `outputs` is not valid().
  StepComparison(const std::vector<std::string>& names, const std::vector<bool>& summaries, std::size_t fetches,
                 const SingleDeviceRun& one, std::span<const Tensor> outputs);
  // Adds the variables that the replicated step has written. Call it before the state is restored. `state`: as it was
  // before the step.
  Status add_written(const SessionState& state, const SingleDeviceRun& one);

  void add_noise(const SingleDeviceRun& perturbed);

  // One text per difference: "'v' is 3, on one device 2, …".
  std::vector<std::string> differences(DType computed_in) const;
  // Returns the name of the first value that is only rounding noise; "": there is none.
  std::string noisy(DType computed_in) const;

 private:
  struct Entry {
    StepValue value;
    int output = -1;    // index of the returned value; -1: a written variable
    std::string where;  // " on GPU:1" for a mirror
  };
  void add_variable(const std::string& name, Tensor got, std::string where, const SingleDeviceRun& one,
                    const SessionState::Values& before);
  std::vector<Entry> entries_;
};

}  // namespace argosy::tf
