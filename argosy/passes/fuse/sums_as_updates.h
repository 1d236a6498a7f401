// Rewrites AssignAdd and AssignSub as updates by gradient descent, on asynchronous devices:
//
//   v, d ─► AssignAdd     ──►     v, -1, d ─► ApplyGradientDescent
//   v, d ─► AssignSub     ──►     v, +1, d ─► ApplyGradientDescent
//
// Batch normalisation updates its moving averages by such ops. The result has the same bits, and fuse_updates() can
// then combine many of them into one launch. Internal to argosy/passes/fuse/fuse_updates.cc.
#pragma once

#include "argosy/passes/fuse/requested_devices.h"

namespace argosy {

// Left alone: a single sum, shapes that differ or are not known, types that are not floating, graphs with control flow.
Status sums_to_updates(Graph& graph, const RequestedDevices& devices);

}  // namespace argosy
