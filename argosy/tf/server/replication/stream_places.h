// Streams of random numbers in steps that are replicated over several tasks. Every task keeps streams of its own; other
// steps of the session draw from the master's alone. So each replicated step tells the others where the master's stands.
// Internal to the session server.
#pragma once

#include <string>

#include "argosy/graph/graph.h"

namespace argosy::tf {

// Adds what tells other tasks, for every shard's draw there. The new nodes run with the draws. `own_host`: full name of a
// CPU of the master's task. UNIMPLEMENTED "ARG-CLUSTER-122": a draw in a loop or a branch.
Status tell_stream_places(Graph& graph, const std::string& own_host);

}  // namespace argosy::tf
