// A plan in words, and as a JSON document.
#pragma once

#include <string>

#include "argosy/planner/plan.h"
#include "argosy/tf/server/planning/graph_step.h"
#include "tools/argosy/train/train_choices.h"

namespace argosy::cli {

// For people: the plan and its prediction, what travels, memory, what is not sharded, why others lose, how to run it.
// `name`: of what is planned. `by_hand`: the command that runs it.
std::string plan_text(const Plan& plan, const std::string& name, const std::string& by_hand);
// The training of a model with this plan.
std::string by_hand(const Plan& plan, const TrainChoices& choices);
// Which devices there are, as they are typed: " --emulate 2 --mem gpu:0=4GiB"; "": the machine as it is.
std::string machine_flags(const DeviceRequest& request);
// A word as a shell reads it.
std::string shell_word(const std::string& text);
// The plan's devices, as --devices takes them.
std::string device_list(const Plan& plan);
// For programs: one document with a newline at its end. Its keys are public. `step`: of a graph's file; null: a model.
std::string plan_json(const Plan& plan, const tf::GraphStep* step = nullptr);

}  // namespace argosy::cli
