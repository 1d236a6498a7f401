// Where a stream of random numbers stands, as a value: so that a node on another task draws on from there.
//
//   task a: _StreamPlace ─┬─► draws of this task      (afterwards)
//                         └ ─ ─ task b: _SetStreamPlace ─► draws of that task
#pragma once

#include "argosy/graph/graph.h"

namespace argosy {

// The place of the stream that this node draws from, by its attributes "stream", "seed" and "seed2". Two integers of the
// generator's key and counter each, as int64[3].
Result<NodeId> add_stream_place(Graph& graph, const Node& draws);
// Puts the stream of such a node there, where this node runs.
Result<NodeId> add_set_stream_place(Graph& graph, const Node& draws, Endpoint place);

}  // namespace argosy
