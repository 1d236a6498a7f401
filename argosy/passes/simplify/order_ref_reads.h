// Reads of reference variables see the values that TensorFlow's see. There Identity forwards the variable's own memory,
// and updates are made in place. So a reader of that Identity that runs after an update sees the new value, however
// early the Identity ran:
//
//   v ─► Identity ───────► Fill          v ──────────────► Fill
//   v ─► AssignAdd ┄┄┄┄┄┄┄┄► Fill   ──►  v ─► AssignAdd ┄┄┄┄► Fill
//
// Programs rely on it: SyncReplicasOptimizer fills its token queue with a global step read so. Here a read is a
// snapshot, taken when its reader runs. So a reader that comes after an update reads the variable itself, unless its
// Identity comes after that update too. Where no order is given between update and reader nothing changes.
//
// Where an update may give the variable another number of elements (Assign without validate_shape), TensorFlow decides
// when it runs. Of as many elements as before it updates in place; else the variable gets new memory, and earlier reads
// keep the old. There a "_ReadAgain" of the read and the variable decides between the two.
//
// Into a branch and into a loop the variable goes by RefSwitch and RefEnter. The results of Merge and Reshape, the same
// memory in TensorFlow, stay snapshots here.
#pragma once

#include "argosy/passes/simplify/prune.h"

namespace argosy {

// Returns how many inputs now read the variable. This is no optimisation: the meaning of the graph needs it.
Result<int> order_ref_reads(StepGraph& step);

}  // namespace argosy
