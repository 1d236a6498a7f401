// Reads of reference variables see the values that TensorFlow's see. There Identity forwards the variable's own memory,
// and updates are made in place. So a reader of that Identity that runs after an update sees the new value, however
// early the Identity ran. So it is with Reshape, StopGradient and what else forwards its input (OpDef::forwards).
// And so it is with slices of aligned rows (OpDef::view):
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
// A fetched read shows what all updates of the step made, whatever their order: TensorFlow hands it over at the end.
//
// Into a branch and into a loop the variable goes by RefSwitch and RefEnter. A Reshape or a slice is made anew for such a
// reader (late_reads.h). TensorFlow's Snapshot copies: it stays as it is.
//
// Some values are snapshots here and the variable's memory in TensorFlow:
//
//   results of Merge and IdentityN, fetched views, reads of RefSelect;
//   what forwards in some cases alone, such as Pad by 0;
//   pieces of Split: its input 0 is the axis;
//   slices at places, or of sizes, that are not known before the step;
//   slices of a variable whose number of elements an update may change;
//   views of several inputs that are made outside the loop that reads them.
#pragma once

#include "argosy/passes/simplify/prune.h"

namespace argosy {

// Returns how many inputs now read the variable. This is no optimisation: the meaning of the graph needs it.
Result<int> order_ref_reads(StepGraph& step);

}  // namespace argosy
