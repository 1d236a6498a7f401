// Makes reads of reference variables return the same values as in TensorFlow. There an Identity forwards the variable's
// own memory, and updates work in place. So a reader of that Identity that runs after an update sees the new value,
// however early the Identity ran. The same holds for Reshape, StopGradient and other ops that forward their input
// (OpDef::forwards), and for slices of aligned rows (OpDef::view):
//
//   v ─► Identity ───────► Fill          v ──────────────► Fill
//   v ─► AssignAdd ┄┄┄┄┄┄┄┄► Fill   ──►  v ─► AssignAdd ┄┄┄┄► Fill
//
// Programs rely on this: SyncReplicasOptimizer fills its token queue with such a read of the global step. In Argosy a
// read is a snapshot. So this pass makes a reader that comes after an update read the variable itself, unless its
// Identity comes after that update, too. If update and reader are not ordered, nothing changes.
//
// If an update may change the number of elements (Assign without validate_shape), TensorFlow decides at run time. With
// the same number it updates in place. With another number the variable gets new memory, and earlier reads keep the old
// one. For such updates this pass inserts a "_ReadAgain" of the read and the variable, which makes that choice.
//
// A fetched read returns the value after all updates of the step, whatever their order, since TensorFlow copies fetches
// at the end. Another process cannot know that end: its part of a step sends the read itself, which kFetchedAs marks.
//
// A variable enters branches and loops by RefSwitch and RefEnter. A Reshape or a slice is repeated for such a reader
// (late_reads.h). TensorFlow's Snapshot copies, so it is left alone.
//
// Known differences: the following values are snapshots here, and the variable's memory in TensorFlow:
//
//   results of Merge and IdentityN, fetched views, reads of RefSelect;
//   outputs of ops that forward only in some cases, such as Pad by 0;
//   pieces of Split: its input 0 is the axis;
//   slices at places, or of sizes, that are not known before the step;
//   slices of a variable whose number of elements an update may change;
//   views of several inputs that are made outside the loop that reads them.
#pragma once

#include "argosy/passes/simplify/prune.h"

namespace argosy {

// Attribute of a fetched read that became a fetch of its variable, list(int): which fetches of the step it was.
inline constexpr const char* kFetchedAs = "_fetched_as";

// Returns how many inputs now read the variable. Not an optimisation: the results are wrong without it.
Result<int> order_ref_reads(StepGraph& step);

}  // namespace argosy
