// Which losses of a step have one value in every run of it. A loss in a loop has one in each iteration; one in a branch
// has none where the branch is not taken. Internal to the session server.
#pragma once

#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/tf/server/session/resolved_step.h"

namespace argosy::tf {

// Those of `losses`, in that order, which may be fetched beside what `values` asks for. It errs on one side: what it
// returns has a value in every run.
std::vector<Endpoint> losses_of_every_run(const Graph& graph, const StepValues& values,
                                          const std::vector<Endpoint>& losses);

}  // namespace argosy::tf
