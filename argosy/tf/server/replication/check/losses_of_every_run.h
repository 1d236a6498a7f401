// Finds the losses of a step that have exactly one value in every run. A loss in a loop has one value per iteration; a
// loss in a branch has none if the branch is not taken. Internal to the session server.
#pragma once

#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/tf/server/session/resolved_step.h"

namespace argosy::tf {

// Returns the unconditional ones of `losses`, in that order. They may be fetched in addition to what `values` asks for.
// It is conservative: it may omit some, and each one that it returns has a value in every run.
std::vector<Endpoint> losses_of_every_run(const Graph& graph, const StepValues& values,
                                          const std::vector<Endpoint>& losses);

}  // namespace argosy::tf
