// Reads of reference variables see what TensorFlow's see. There Identity forwards the variable's own memory and updates
// are made in place, so whoever reads that Identity after an update has the new value, however early the Identity ran:
//
//   v ─► Identity ───────► Fill          v ──────────────► Fill
//   v ─► AssignAdd ┄┄┄┄┄┄┄┄► Fill   ──►  v ─► AssignAdd ┄┄┄┄► Fill
//
// Programs rely on it: SyncReplicasOptimizer fills its token queue with a global step read so. Here a read is a
// snapshot, taken when its reader runs; so a reader that comes after an update which its Identity does not come after
// reads the variable itself. Where no order is given between update and reader nothing changes.
//
// Into a branch and into a loop the variable goes beside the read, by RefSwitch and RefEnter. What the read becomes by
// Merge or Reshape, the same memory there, stays a snapshot here.
#pragma once

#include "argosy/passes/prune/prune.h"

namespace argosy {

// How many inputs now read the variable. Not an optimisation: part of what the graph means.
Result<int> order_ref_reads(StepGraph& step);

}  // namespace argosy
