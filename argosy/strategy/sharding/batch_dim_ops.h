// Answers how an op treats the examples of a batch, by the rule in its definition (op/definition/batch_rule.h).
// Internal to strategy/.
#pragma once

#include "argosy/graph/graph.h"
#include "argosy/op/definition/batch_rule.h"
#include "argosy/strategy/analysis/batch_axis.h"

namespace argosy {

// The op's batch rule; kPerExample for elementwise ops.
BatchRule rule_of(const OpDef& op);

// True if an output without the batch axis, computed from an input that has it, is a sum over the examples.
bool adds_up(const OpDef& op);

// True if the op's definition has no batch rule. Control flow in dataflow form and ops that write variables need none.
bool has_no_rule(const Graph& graph, const Node& n);

// True if the output for one example depends on other examples or on their order: a cumulative sum, a softmax, a
// convolution or a reversal along the batch axis. Reductions over the batch are not among them: they leave no rows.
bool is_cross_example_op(const Graph& graph, const BatchAxes& axes, const Node& n);

// True if the integers in `given` name the batch axis of `of`, or may name it.
bool names_batch(const Graph& graph, const BatchAxes& axes, Endpoint given, Endpoint of);

}  // namespace argosy
