// Finds normalisation by batch statistics. Each shard uses its own statistics, so the replicated step differs from one
// device's step by design, unless DataParallelOptions::sync_batch_norm is set.
#pragma once

#include <optional>

#include "argosy/graph/graph.h"

namespace argosy {

// Returns the first such node:
// - FusedBatchNorm in training;
// - the mean of tf.nn.moments along axis 0, or along axes that are not known.
//
// Moments along other axes belong to one example (layer norm) and do not count.
std::optional<NodeId> normalises_by_batch(const Graph& graph);

}  // namespace argosy
