// Control edges that order nothing go, and what only they kept alive with them.
//
//   dy ─► grad of x ┄┄► group ┄┄► grad of w ─► update     ──►     dy ─► grad of w ─► update
//
// Python's tf.gradients() makes every gradient of a node wait for all the others. The gradient of an image, or of
// whatever else nobody reads, would be computed for that alone: a third of a small network's step.
//
// A node without effects may be waited for only because of what it waits for itself. So
//   * a node that is read by nobody, and only waited for, goes: who waited for it waits for what it waited for;
//   * a node does not wait for another when every effect that one comes after is an input's affair already.
// As in TensorFlow, an error that such a node would have reported is not reported: nobody asked for its value.
//
// Left alone: effects (stateful and blocking ops, readers of references), control flow and what reads it directly,
// where a dead value means something to who waits.
#pragma once

#include "argosy/passes/prune/prune.h"

namespace argosy {

// How many nodes wait for less. Dead nodes stay: see drop_dead_nodes().
Result<int> prune_control_edges(StepGraph& step);

}  // namespace argosy
