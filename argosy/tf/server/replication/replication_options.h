// How the training steps of a session are replicated. Internal to the session server.
#pragma once

#include <memory>

#include "argosy/runtime/tasks/remote_task.h"
#include "argosy/strategy/strategy_spec.h"
#include "argosy/tf/server/planning/planned_step.h"

namespace argosy::tf {

struct ReplicationOptions {
  bool optimize = true;          // runs the optimizing passes on the graph
  bool sync_batch_norm = false;  // see DataParallelOptions
  int check = 0;                 // the first so many runs of every step also run on one device, and are compared
  // Micro-batches, and whether slots are sharded (ZeRO-1). `dp` is not used: steps use all GPUs of the session.
  StrategySpec strategy = {};
  // A step runs on one device if it is predicted to be faster there (StepAdvisor).
  bool ask_cost_model = false;
  int most_gpus = 0;                                     // uses at most so many GPUs of the session; 0: all
  std::shared_ptr<RemoteTasks> tasks = nullptr;          // the other tasks of the session's cluster; null: none
  std::shared_ptr<const PlannedStep> planned = nullptr;  // the step of the plan that is replayed; null: there is none
};

}  // namespace argosy::tf
