// Connects values within a step: all readers of one value read another value of the same graph instead, as if it were
// fed.
//
//   c        x ──► y            connected to x: c        c ──► _identity_x_0 ──► y
#pragma once

#include <compare>
#include <span>

#include "argosy/graph/graph.h"

namespace argosy {

// Replaces one value by another for all readers.
struct Connection {
  Endpoint to;    // the replaced value
  Endpoint from;  // the value that its readers get
  auto operator<=>(const Connection&) const = default;
};

// Returns a copy of the graph with these connections; nodes keep their ids. The connections are applied one after
// another, as in TensorFlow: a later one also replaces the values that an earlier one made readers read, but not vice
// versa. INVALID_ARGUMENT: a connection would close a cycle, or a reader takes another dtype.
Result<Graph> connect(const Graph& graph, std::span<const Connection> connections);

}  // namespace argosy
