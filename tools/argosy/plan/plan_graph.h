// Plans of graph files: flags, and the command for them.
#pragma once

#include <string>
#include <vector>

#include "tools/argosy/cli/console.h"
#include "tools/argosy/train/train_choices.h"

namespace argosy::cli {

// What of a graph's file is planned, and what it is fed.
struct GraphChoices {
  std::vector<std::string> targets, fetches, feeds, shapes, tags;
};

// Known by its ending, or by being a SavedModel's folder.
bool is_graph(const std::string& name);

void add_graph_flags(Command& command, GraphChoices& choices);
// A usage error for flags of graphs beside a model's name.
Status refuse_graph_flags(const TrainChoices& model, const GraphChoices& choices);

// Prints the plan of the training step in the file `choices.model`, and writes it to `save`, "": nowhere. ARG-PLAN-049:
// flags of models beside a graph. Other errors are those of GraphStep::open(), plan_graph() and strategy files.
Result<int> run_graph_plan(const TrainChoices& choices, const GraphChoices& graph, const std::vector<std::string>& why,
                           const std::string& save, Console& console);

}  // namespace argosy::cli
