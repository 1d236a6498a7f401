// Control edges that order nothing go, and the nodes that only they kept alive.
//
//   dy ─► grad of x ┄┄► group ┄┄► grad of w ─► update     ──►     dy ─► grad of w ─► update
//
// Python's tf.gradients() makes every gradient of a node wait for all the others. So the gradient of an image, which
// nobody reads, would be computed: a third of a small network's step.
//
// A node without effects may be waited for only because of the nodes that it waits for itself. So
//   * a node that nobody reads goes: its waiters wait for its inputs and control inputs instead;
//   * a node does not wait for another, if its inputs come after every effect that the other one comes after.
// As in TensorFlow, an error that such a node would have reported is not reported.
//
// Left alone: effects (stateful and blocking ops, readers of references), and control flow with its direct readers,
// where a dead value means something to those that wait.
#pragma once

#include "argosy/passes/simplify/prune.h"

namespace argosy {

// Returns how many nodes wait for less. Dead nodes stay: see drop_dead_nodes().
Result<int> prune_control_edges(StepGraph& step);

}  // namespace argosy
