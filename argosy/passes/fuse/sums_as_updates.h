// Sums kept in variables become updates by gradient descent, on asynchronous devices:
//
//   v, d ─► AssignAdd     ──►     v, -1, d ─► ApplyGradientDescent
//   v, d ─► AssignSub     ──►     v, +1, d ─► ApplyGradientDescent
//
// Batch normalisation keeps its averages so. The result is the same to the bit, and fuse_updates() can then put many of
// them into one launch. Internal to argosy/passes/fuse/fuse_updates.cc.
#pragma once

#include "argosy/passes/fuse/requested_devices.h"

namespace argosy {

// Left alone: a single sum, shapes that differ or are not known, types that are not floating, graphs with control flow.
Status sums_to_updates(Graph& graph, const RequestedDevices& devices);

}  // namespace argosy
