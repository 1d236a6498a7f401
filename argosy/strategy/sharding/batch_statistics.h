// What normalises by its global batch: where shards of it are computed apart, each uses its own statistics, and the step
// is another than one device's by design (unless DataParallelOptions::sync_batch_norm).
#pragma once

#include <optional>

#include "argosy/graph/graph.h"

namespace argosy {

// The first such node: FusedBatchNorm in training, or the mean of tf.nn.moments along axis 0 (or along axes that are
// not known). Along others, an example's own features, it is a layer's.
std::optional<NodeId> normalises_by_batch(const Graph& graph);

}  // namespace argosy
