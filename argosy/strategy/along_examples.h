// Ops that work along the axis on which the examples lie. Internal to strategy/.
#pragma once

#include "argosy/graph/graph.h"
#include "argosy/strategy/batch_axis.h"

namespace argosy {

// What it gives for an example depends on others, or on their order: a cumulative sum, a softmax, a convolution, a
// reversal along the batch. Sums and other reductions, which leave no rows, are none of these.
bool works_along_examples(const Graph& graph, const BatchAxes& axes, const Node& n);

// Is the batch's axis of `of` among the axes that the integers in `given` name, or may it be?
bool names_batch(const Graph& graph, const BatchAxes& axes, Endpoint given, Endpoint of);

}  // namespace argosy
