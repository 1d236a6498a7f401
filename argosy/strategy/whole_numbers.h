// Numbers of the batch that rows are computed with and that nothing is trained through: the mean and deviation that
// advantages or inputs are normalised with, how common a label is. Internal to strategy/.
#pragma once

#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/strategy/batch_axis.h"
#include "argosy/strategy/cuts.h"

namespace argosy {

// Adds cuts for the sums and means that such numbers are made of, so that every share has the whole batch's. No
// gradient comes back to these, so that is all there is to do, whatever else is in the number (what scales a normalised
// layer). Numbers that are trained through stay each share's, and so do those that are neither sums nor means nor
// computed from some (examples_apart.h says which of them are an error). `seeds`: where the gradients of the losses
// start.
Status cut_untrained_numbers(const Graph& graph, const BatchAxes& axes, const std::vector<NodeId>& losses,
                             const std::vector<NodeId>& seeds, std::vector<Cut>& cuts);

}  // namespace argosy
