// Ops that work along the axis on which the examples lie, by the rules in their definitions (op/definition/batch_rule.h). Internal
// to strategy/.
#pragma once

#include "argosy/graph/graph.h"
#include "argosy/op/definition/batch_rule.h"
#include "argosy/strategy/analysis/batch_axis.h"

namespace argosy {

// kPerExample for elementwise ops, whatever else they say of sizes.
BatchRule rule_of(const OpDef& op);

// Where an output has none of the batch's axis that an input has, it is a sum over the examples.
bool adds_up(const OpDef& op);

// Its op's definition says nothing of examples, and neither does what executors and updates know of it: control flow in
// dataflow form, ops that change variables.
bool has_no_rule(const Graph& graph, const Node& n);

// What it gives for an example depends on others, or on their order: a cumulative sum, a softmax, a convolution, a
// reversal along the batch. Sums and other reductions, which leave no rows, are none of these.
bool is_cross_example_op(const Graph& graph, const BatchAxes& axes, const Node& n);

// Is the batch's axis of `of` among the axes that the integers in `given` name, or may it be?
bool names_batch(const Graph& graph, const BatchAxes& axes, Endpoint given, Endpoint of);

}  // namespace argosy
