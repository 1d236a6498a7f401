// Strategy files of models: what `argosy plan MODEL --save FILE` writes and `--strategy @FILE` replays, in train and plan.
//
// A file holds the strategy, the devices that it uses and what they are, and what the plan is for: model, sizes, batch. A
// replay for something else is an error that says what differs.
#pragma once

#include <string>

#include "argosy/planner/plan.h"
#include "tools/argosy/train/train_choices.h"

namespace argosy::cli {

// NOT_FOUND where the file cannot be written.
Status save_strategy(const std::string& path, const Plan& plan, const TrainChoices& choices);

// What a file says, after it was compared with the run.
struct SavedStrategy {
  StrategySpec strategy;
  DeviceRequest request;  // `choices.request`, for the plan's devices alone
};
// `batch`: of the run. NOT_FOUND: no such file. INVALID_ARGUMENT ARG-SHARD-004: it is no strategy file.
// FAILED_PRECONDITION ARG-SHARD-003: it is for another model, batch or device.
Result<SavedStrategy> load_strategy(const std::string& path, const TrainChoices& choices, std::int64_t batch);

// Resolves --strategy for a run: "@FILE" is read, "auto" is planned. Sets strategy and devices of the job. Returns what
// was chosen, in words; "" where the strategy was given.
Result<std::string> resolve_strategy(const TrainChoices& choices, TrainJob& job);

}  // namespace argosy::cli
