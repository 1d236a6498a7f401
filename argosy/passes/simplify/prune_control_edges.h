// Removes control edges that order nothing, and the nodes that only such edges kept alive.
//
//   dy ─► grad of x ┄┄► group ┄┄► grad of w ─► update     ──►     dy ─► grad of w ─► update
//
// Python's tf.gradients() makes every gradient of a node wait for all the others. So a step would compute the gradient
// of an input image, which nothing reads: a third of a small network's step.
//
// A wait for a node without effects matters only because of the nodes that this node itself waits for. So
//   * a node that nothing reads is removed: its waiters wait for its inputs and control inputs instead;
//   * a control input of a node is removed if all effects before it also come before the node's inputs.
// As in TensorFlow, an error that such a node would have reported is not reported.
//
// Left alone: effects (stateful and blocking ops, readers of references), and control flow with its direct readers,
// where deadness passes along control edges.
#pragma once

#include "argosy/passes/simplify/prune.h"

namespace argosy {

// Returns how many nodes lost control inputs. Dead nodes stay: see remove_unused_nodes().
Result<int> prune_control_edges(StepGraph& step);

}  // namespace argosy
