// Strategy files of graphs: what `argosy plan GRAPH --save FILE` writes, and `--strategy @FILE` replays in `argosy run`,
// `argosy serve` and `argosy plan`.
#pragma once

#include <string>
#include <vector>

#include "argosy/planner/plan.h"
#include "argosy/tf/server/planning/graph_step.h"
#include "argosy/tf/server/planning/planned_step.h"

namespace argosy::cli {

// `graph`: the file that was planned. NOT_FOUND where `path` cannot be written.
Status save_graph_strategy(const std::string& path, const Plan& plan, const std::string& graph,
                           const tf::GraphStep& step, bool sync_batch_norm);

// What a file says, after it was compared with the run.
struct SavedGraphStrategy {
  StrategySpec strategy;
  DeviceRequest request;  // `devices`, for the plan's alone
  tf::PlannedStep step;
  double step_seconds = 0;  // as predicted
};
// Errors are those of load_strategy(): the file is for a model, for another device, or differs in --sync-batch-norm. Which
// step and which batch a client runs is not known yet.
Result<SavedGraphStrategy> load_graph_strategy(const std::string& path, const DeviceRequest& devices,
                                               bool sync_batch_norm);

}  // namespace argosy::cli
