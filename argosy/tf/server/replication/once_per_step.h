// What may happen but once in a client's step, where the step is run in two parts: first what brings its batch, then
// the rest. Internal to the session server.
#pragma once

#include <string>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/passes/prune/prune.h"

namespace argosy::tf {

// Changes state, or gives something else every time: what a queue, an iterator, a counter, a generator does.
bool happens_once(const Graph& graph, const Node& n);

// A node that happens once and that both parts would run, in words: `step` as the client asks for it, `sources` what
// the first part gives and the second is fed. Empty: there is none.
Result<std::string> run_twice(const Graph& graph, const StepSignature& step, const std::vector<Endpoint>& sources);

}  // namespace argosy::tf
