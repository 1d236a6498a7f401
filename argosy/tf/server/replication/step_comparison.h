// StepComparison: what a replicated step gave and wrote, value by value, beside one device's. Internal to the session
// server.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "argosy/strategy/data_parallel/step_equivalence.h"
#include "argosy/tf/server/replication/step_check.h"
#include "argosy/tf/server/service/session_state.h"

namespace argosy::tf {

// A step run on one device.
struct AloneRun {
  std::vector<Tensor> given;             // fetches, then losses
  SessionState::Values before, written;  // variables, before it and after
};

// Runs it from nudged variables; the state is put back. `like`: the run from the variables themselves. Nothing where
// the step fails from these.
Result<std::optional<AloneRun>> run_nudged(const SessionState& state, const AloneRun& like, DType computed_in, int k,
                                           const StepCheck::Run& alone);

class StepComparison {
 public:
  // `names` of what it gives; one whose `given` is not valid() and which is beyond `fetches`, and summaries, are not
  // compared.
  StepComparison(const std::vector<std::string>& names, const std::vector<bool>& summaries, std::size_t fetches,
                 const AloneRun& one, std::span<const Tensor> given);
  // What the replicated step has written; to be called before the state is put back. `state`: before the step.
  Status add_written(const SessionState& state, const AloneRun& one);

  void add_noise(const AloneRun& nudged);

  // One text each: "'v' is 3, on one device 2, …".
  std::vector<std::string> differences(DType computed_in) const;
  // The first value of which nothing can be told; "" where there is none.
  std::string noisy(DType computed_in) const;

 private:
  struct Entry {
    StepValue value;
    int given = -1;     // which of what the step gives; -1: it is written
    std::string where;  // " on GPU:1", of a mirror
  };
  void add_variable(const std::string& name, Tensor got, std::string where, const AloneRun& one,
                    const SessionState::Values& before);
  std::vector<Entry> entries_;
};

}  // namespace argosy::tf
