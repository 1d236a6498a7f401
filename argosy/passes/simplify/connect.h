// Connects values within a step: whoever reads one value reads another of the same graph, as if that were fed.
//
//   c        x ──► y            connected to x: c        c ──► _identity_x_0 ──► y
#pragma once

#include <compare>
#include <span>

#include "argosy/graph/graph.h"

namespace argosy {

// One value in the place of another.
struct Connection {
  Endpoint to;    // is not computed for its readers
  Endpoint from;  // what they read instead
  auto operator<=>(const Connection&) const = default;
};

// A copy of the graph with these connections; its nodes keep their ids. They are made one after another, as TensorFlow
// makes them: a later one reaches what an earlier one reads, and not the other way round.
// INVALID_ARGUMENT: a connection would close a cycle, or a reader takes another dtype.
Result<Graph> connect(const Graph& graph, std::span<const Connection> connections);

}  // namespace argosy
