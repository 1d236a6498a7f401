// Finds nodes that must run only once in a client's step. A replicated step runs in two parts: first the sources, which
// compute its batch, then the rest. Internal to the session server.
#pragma once

#include <string>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/passes/simplify/prune.h"

namespace argosy::tf {

// True if the node changes state or returns another value every time: queues, iterators, counters, generators.
bool happens_once(const Graph& graph, const Node& n);

// Describes a node that must run only once and that both parts would run; empty: there is none. `step`: as the client
// requests it. `sources`: returned by the first part, fed to the second.
Result<std::string> run_twice(const Graph& graph, const StepSignature& step, const std::vector<Endpoint>& sources);

}  // namespace argosy::tf
