// PlanSubject: the object of a plan, which is a model of `argosy train`, or a step of a client's graph. The planner
// uses it only through these interfaces: a step compiled for some devices, and trial steps on one device.
//
//   PlanSubject ─┬─ compile(candidate) ──► CompiledCandidate   inspected: schedule, memory, collectives; never run
//                └─ on_one_device(spec) ─► TrialSteps          run: seconds of every op, on variables of their own
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "argosy/planner/candidates.h"
#include "argosy/runtime/device_set/device_set.h"
#include "argosy/runtime/device_set/stats.h"
#include "argosy/runtime/step/step.h"
#include "argosy/strategy/data_parallel/data_parallel.h"

namespace argosy {

// A step, compiled for the devices of a candidate, at the subject's batch. It borrows from its subject.
class CompiledCandidate {
 public:
  virtual ~CompiledCandidate() = default;
  // The replicated graph. Null: a step of one device, which is not replicated.
  virtual const DataParallel* parallel() const = 0;
  // The compiled step. Errors are those of compiling. Memory is not checked: the step may be larger than the devices.
  virtual Result<std::shared_ptr<const Step>> look() = 0;
  virtual Result<std::vector<MemoryForecast>> forecast() = 0;  // of each device
  // RESOURCE_EXHAUSTED ARG-MEM-002: it does not fit; the hint is a batch that does.
  virtual Status check_memory() = 0;
  // NOT_FOUND ARG-SHARD-005: the subject has no such node.
  virtual Result<PlannedNode> planned(std::string_view node) = 0;
};

// The step on one device, with variables of its own. Each object is used by one thread at a time; several objects may
// run at once.
class TrialSteps {
 public:
  virtual ~TrialSteps() = default;
  // RESOURCE_EXHAUSTED ARG-MEM-002: so many examples do not fit. Other errors: such a batch cannot be tried.
  virtual Status check(std::int64_t batch) = 0;
  // Prepares to run steps of so many examples.
  virtual Status prepare(std::int64_t batch) = 0;
  // Runs one step of the prepared size and returns its seconds. `stats` may be null.
  virtual Result<double> step_seconds(StepStats* stats) = 0;
  virtual Result<std::shared_ptr<const Step>> look(std::int64_t batch) = 0;  // the compiled step of that size
};

// One thread at a time. It outlives what it makes.
class PlanSubject {
 public:
  virtual ~PlanSubject() = default;
  virtual std::int64_t batch() const = 0;  // examples of a step over all devices
  // INVALID_ARGUMENT, UNIMPLEMENTED: this strategy does not suit the subject.
  virtual Result<std::unique_ptr<CompiledCandidate>> compile(const Candidate& candidate,
                                                             const std::shared_ptr<DeviceSet>& device_set) = 0;
  virtual Result<std::unique_ptr<TrialSteps>> on_one_device(const DeviceSpec& spec) = 0;  // to be timed there
  // Returns the seconds that the input of one step takes while nothing else runs; 0: it takes none. `budget`: seconds
  // that the measurement may take.
  virtual Result<double> input_seconds(double budget) = 0;
};

}  // namespace argosy
