// Synchronises the positions of random streams in steps that are replicated over several tasks. Every task has its own
// streams, and other steps of the session advance only the master's. So each replicated step sends the positions of the
// master's streams to the other tasks. Internal to the session server.
#pragma once

#include <string>

#include "argosy/graph/graph.h"

namespace argosy::tf {

// Adds nodes that read the position of each stream on the master's task, and set it on every task that draws from it,
// before the draws. `own_host`: full name of a CPU of the master's task. UNIMPLEMENTED "ARG-CLUSTER-122": a draw is in
// a loop or a branch.
Status tell_stream_places(Graph& graph, const std::string& own_host);

}  // namespace argosy::tf
