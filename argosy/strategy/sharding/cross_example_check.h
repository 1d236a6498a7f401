// Checks that data parallelism gives the same result as one device. Internal to strategy/.
//
// Each device sees only its shard of the batch. An op is *cross-example* if its output for one example depends on other
// examples: `x - mean(x, 0)`, softmax over the batch axis, cumsum over examples. Such an op is an error here, unless
// its cross-example operand has a global value already (cross_example_stats.h).
//
// Statistics for normalisation (tf.nn.moments, FusedBatchNorm) are exempt: like TensorFlow's, they are per shard.
#pragma once

#include <span>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/strategy/analysis/batch_axis.h"

namespace argosy {

// Returns UNIMPLEMENTED ARG-DP-007 with the node's name if a value that `roots` need has the batch on several axes:
// every example paired with every other.
Status check_one_batch_axis(const Graph& graph, const BatchAxes& axes, const std::vector<NodeId>& roots);

// Returns the same error for the first node on the way to `losses` where
// - an op without a batch rule (op/definition/batch_rule.h) reads a device-varying value;
// - a conditional branches on a number made of several examples, or on their count;
// - rows of examples are computed with such a number: a mean that is subtracted, a first row;
// - an op works along the batch axis: a cumulative sum, a softmax or a convolution over examples;
// - examples have unequal numbers of rows: every third row, differences of neighbours. Rows that follow the examples'
//   rows and are used separately are allowed (nce_loss);
// - rows are gathered by numbers that do not count the shard's own examples (batch_positions.h).
//
// Values in `global` are global and may be used so. Returns true if some statistics are means of rows; a shard without
// rows does not have those.
Result<bool> check_no_cross_example_ops(const Graph& graph, const BatchAxes& axes, const std::vector<NodeId>& losses,
                                        std::span<const Endpoint> global);

// Returns the same error if an op without a batch rule reads rows of a shard, on the way from `seeds` to `to`. No
// seeds: on any way to `to`.
Status check_rules(const Graph& graph, const BatchAxes& axes, const std::vector<NodeId>& to,
                   const std::vector<NodeId>& seeds);

// A cross-example operand: a value without rows, made of several examples, that rows are computed with.
struct CrossExampleOperand {
  Endpoint value;          // of a value without gradient: the source of the copy
  bool statistic = false;  // serves normalisation
  NodeId taker;
  int input = 0;
};

// Returns the cross-example operands on the way to `losses`. Each one is an error or a statistic.
Result<std::vector<CrossExampleOperand>> cross_example_operands(const Graph& graph, const BatchAxes& axes,
                                                                const std::vector<NodeId>& losses,
                                                                std::span<const Endpoint> global);

// Returns the cross-example operands among gradients, on the way from `seeds` to `train`: the gradient of a
// cross-example operand that a shard computes, before it flows back to the rows.
Result<std::vector<CrossExampleOperand>> cross_example_gradient_operands(const Graph& graph, const BatchAxes& axes,
                                                                         const std::vector<NodeId>& train,
                                                                         const std::vector<NodeId>& seeds,
                                                                         std::span<const Endpoint> global);

// By node: not 0 if a cross-example op lies on the way to it, so that a shard computes another value than the global
// batch would. Statistics count as per shard only if `losses` use them. Nodes after `seeds` are left out: those losses
// were checked.
Result<std::vector<char>> find_cross_example_nodes(const Graph& graph, const BatchAxes& axes,
                                                   const std::vector<NodeId>& losses, const std::vector<NodeId>& seeds,
                                                   std::span<const Endpoint> global);

// The same for gradients: not 0 after a cross-example op on rows that come after `seeds`.
Result<std::vector<char>> find_cross_example_gradients(const Graph& graph, const BatchAxes& axes,
                                                       const std::vector<NodeId>& seeds,
                                                       std::span<const Endpoint> global);

}  // namespace argosy
