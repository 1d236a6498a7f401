// PartitionedStep: the other tasks' parts of a step, as its master runs them.
//
//   first run    register_graph on every task, at once
//   every run    run_graph on every task ─┐
//                own part, here ──────────┴─► all have ended ─► cleanup on every task ─► fetches
//   an error     abort, with the first cause, everywhere
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/passes/partition/partition.h"
#include "argosy/runtime/execute/remote_parts.h"
#include "argosy/runtime/tasks/remote_task.h"

namespace argosy {

// Thread-safe.
class PartitionedStep final : public RemoteParts {
 public:
  // Positions of a part's feeds and fetches among those of the step.
  struct Positions {
    std::vector<int> feeds, fetches;
  };

  // `own`: of this task's part. `others`: the partitions of other tasks. NOT_FOUND "ARG-TASK-003" where a task is not
  // known.
  static Result<std::unique_ptr<PartitionedStep>> make(std::shared_ptr<RemoteTasks> tasks, Positions own,
                                                       std::vector<Partition> others, const TaskGraphOptions& options);
  ~PartitionedStep() override;  // deregisters; REQUIRES: no run is under way

  Status run(std::span<const Tensor> feeds, std::span<Tensor> fetches, RunContext& context, const OwnRun& own) override;

 private:
  struct Part {
    RemoteTask* task;
    std::string name;
    StepGraph graph;
    Positions positions;
  };
  struct Registration;
  class Run;

  PartitionedStep(std::shared_ptr<RemoteTasks> tasks, Positions own, const TaskGraphOptions& options);
  Status register_graphs(Cancellation& cancellation);
  std::vector<std::string> handles();
  void forget_handle(std::size_t part, const std::string& handle);

  const std::shared_ptr<RemoteTasks> tasks_;
  const Positions own_;
  const TaskGraphOptions options_;
  std::vector<Part> parts_;
  std::atomic<bool> registered_{false};
  const std::shared_ptr<Registration> registration_;  // shared with callbacks, which may outlive this object
};

}  // namespace argosy
