// The position of a stream of random numbers as a value: a node on another task can continue the stream from there.
//
//   task a: _StreamPlace ─┬─► draws of this task      (afterwards)
//                         └ ─ ─ task b: _SetStreamPlace ─► draws of that task
#pragma once

#include "argosy/graph/graph.h"

namespace argosy {

// Adds a node whose output is the position of the stream that `draws` uses, by its attributes "stream", "seed" and
// "seed2". The output is int64[3]: the generator's key, and the lower and the upper half of its counter.
Result<NodeId> add_stream_place(Graph& graph, const Node& draws);
// Adds a node that moves the stream of `draws`, on the task where this node runs, to the position `place`.
Result<NodeId> add_set_stream_place(Graph& graph, const Node& draws, Endpoint place);

}  // namespace argosy
