// Where one micro-batch waits for another: activations of both are alive then.
#pragma once

#include <vector>

#include "argosy/strategy/data_parallel/replication_plan.h"

namespace argosy {

// By node: is it computed for each shard from a value that all shards have combined, and is that value computed with
// variables? Such a value ends the forward pass of every turn before the backward pass of any, as global batch statistics
// do. (What is combined of the batch alone, a sum of weights, costs no memory: it is computed ahead.)
// Only the first such nodes of the graph are marked, those that read the value themselves or through devices' nodes.
std::vector<char> nodes_that_couple_turns(const Graph& graph, const ReplicationPlan& plan);

}  // namespace argosy
