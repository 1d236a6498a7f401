// A plan in words, and as a JSON document.
#pragma once

#include <string>

#include "argosy/planner/plan.h"
#include "tools/argosy/train/train_choices.h"

namespace argosy::cli {

// For people: the plan and its prediction, what travels, memory, what is not sharded, why others lose, how to run it.
std::string plan_text(const Plan& plan, const TrainChoices& choices);
// For programs: one document with a newline at its end. Its keys are public.
std::string plan_json(const Plan& plan);

}  // namespace argosy::cli
