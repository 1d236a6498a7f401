// Whether a loss keeps the examples of a batch apart until it adds them up: what a shard computes for an example must
// be what one device computes for it among all others. Internal to strategy/.
#pragma once

#include <span>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/strategy/analysis/batch_axis.h"

namespace argosy {

// UNIMPLEMENTED ARG-DP-007, naming the node, where a value that these are computed from or wait for has the batch on
// several axes: every example paired with every other.
Status check_one_batch_axis(const Graph& graph, const BatchAxes& axes, const std::vector<NodeId>& roots);

// The same error where on the way to one of these losses
//   - an op is given what differs from shard to shard, and its definition does not say how it treats examples
//     (op/definition/batch_rule.h);
//   - a conditional branches on a number made of several examples, or by how many there are;
//   - rows of examples are computed with a number made of several of them, a mean that is subtracted or a first row
//     (values in `global` are the global batch's, and may be);
//   - an op works along the examples: a cumulative sum, a softmax or a convolution over them;
//   - there are rows, but not as many for every example: every third, or the differences of neighbours; others behind
//     the examples' may be, where they are used apart (nce_loss);
//   - rows are taken by numbers that do not count the shard's own examples (fed ones, a permutation), or computed with
//     where in the batch an example lies.
// Statistics for normalisation (tf.nn.moments, FusedBatchNorm) are each shard's, as in TensorFlow, and no error. Are
// there some that are means of rows, which a shard without rows does not have?
Result<bool> check_no_cross_example_ops(const Graph& graph, const BatchAxes& axes, const std::vector<NodeId>& losses,
                                        std::span<const Endpoint> global);

// The same error where an op whose definition does not say how it treats examples is given rows of some, on the way
// from the seeds of gradients (none: from anywhere) to these.
Status check_rules(const Graph& graph, const BatchAxes& axes, const std::vector<NodeId>& to,
                   const std::vector<NodeId>& seeds);

// A number without rows, made of several examples, that rows are computed with: an input of their node.
struct CrossExampleOperand {
  Endpoint value;          // where the node reads what no gradient flows through, what that is a copy of
  bool statistic = false;  // for normalisation
  NodeId taker;
  int input = 0;
};

// Those on the way to these losses: of each it is an error, or none because it is a statistic.
Result<std::vector<CrossExampleOperand>> cross_example_operands(const Graph& graph, const BatchAxes& axes,
                                                                const std::vector<NodeId>& losses,
                                                                std::span<const Endpoint> global);

// The same of gradients, on their way from `seeds` to what trains: what a shard finds for a cross-example operand, before
// it goes back to the rows that the number was made of.
Result<std::vector<CrossExampleOperand>> cross_example_gradient_operands(const Graph& graph, const BatchAxes& axes,
                                                                         const std::vector<NodeId>& train,
                                                                         const std::vector<NodeId>& seeds,
                                                                         std::span<const Endpoint> global);

// By node: not 0 where that happened on the way to it, so that shards come to other numbers than the global batch would.
// Statistics are each shard's only where these losses are computed with them. Of what comes after `seeds`, where
// gradients of the losses start that were checked, it is not asked.
Result<std::vector<char>> find_cross_example_nodes(const Graph& graph, const BatchAxes& axes,
                                                   const std::vector<NodeId>& losses, const std::vector<NodeId>& seeds,
                                                   std::span<const Endpoint> global);

// The same of gradients alone: where an op works along the examples of rows that come after `seeds`.
Result<std::vector<char>> find_cross_example_gradients(const Graph& graph, const BatchAxes& axes,
                                                       const std::vector<NodeId>& seeds,
                                                       std::span<const Endpoint> global);

}  // namespace argosy
