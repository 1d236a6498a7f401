// Sizes: shapes and integers of a graph as functions of the batch size, element by element: times * batch + plus.
//
//   x [batch, 6]          Shape(x)          { batch, 6 }              dimension 0 of x: 1 * batch + 0
//   concat(x, x, zeros)   Shape(…)          { 2 * batch + 1, 6 }
//                         Shape(x)[0] / 2   not known: no such function
//
// Shapes are inferred for several batch sizes. What is not the same times * batch + plus for all of them is not known.
//
// Sizes are values: an integer that is a size is always the *global* one, so it is R on every mesh axis, wherever it is
// data. A device that computes with a shard needs the size of its shard. It follows from the global size and the
// placement of the sized dimension (cut.h), and adds up to it over the devices: it is P(sum). Where a rule says that an
// input is the sizes of an output (OperandRule::Kind::kSizes), each device takes the size of its own shard. Where a rule
// reads the shape of an input alone (kShapeOnly), it is the global shape. Both directions move no data: the host knows
// the global batch from the feeds.
//
// Immutable; threads may share it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/sharding/sizes/shape_walk.h"

namespace argosy {

struct BatchSize {
  std::int64_t times = 0, plus = 0;
  std::int64_t at(std::int64_t batch) const { return times * batch + plus; }
  friend bool operator==(const BatchSize&, const BatchSize&) = default;
};

struct SizesRequest {
  std::vector<NodeId> batch;  // nodes whose output 0 has the batch as dimension 0: fed placeholders
  // Of fed nodes, where the graph leaves sizes open: their lengths. What follows a length is not known. Lengths from the
  // shortest to the longest that was tried are covered, see fits(): no size that grows with a length, or falls, is the
  // same at both ends and another between.
  std::map<NodeId, Shape> examples = {};
  std::optional<std::int64_t> exactly = {};  // the one batch size that matters; unset: any
};

class Sizes {
 public:
  // The graph is borrowed. Where a batch node has a static first size, that is the one batch size that matters.
  // INVALID_ARGUMENT ARG-SHARD-011: the shapes do not fit together for any, or for this, batch size; two batch nodes have
  // different static sizes.
  static Result<Sizes> find(const Graph& graph, const SizesRequest& request);

  // The batch size that shape() and ints() are for. It is large: sizes that follow the batch cannot be taken for others.
  std::int64_t nominal() const { return at_.batch; }
  // True if one batch size alone matters: nominal(). No size is a function of the batch then.
  bool is_exact() const { return only_.has_value(); }
  // True if what is found holds for this batch size.
  bool covers(std::int64_t batch) const { return only_ ? batch == *only_ : batch >= smallest_ && batch <= largest_; }
  // False if a fed node has sizes for which nothing was found: outside of the lengths that were tried.
  bool fits(NodeId fed, const Shape& shape) const;

  // At the nominal batch size. What is no function of the batch is unknown.
  const PartialShape& shape(Endpoint e) const { return at_.shapes[index_(e)]; }
  const PartialInts* ints(Endpoint e) const {
    const auto& known = at_.ints[index_(e)];
    return known ? &*known : nullptr;
  }
  const HandleFact* handle(Endpoint e) const;

  // Nothing: not known.
  std::optional<BatchSize> dim(Endpoint e, int dim) const;
  std::optional<BatchSize> element(Endpoint e, int element) const;
  // Shape for a batch size; unknown where a size is.
  PartialShape shape(Endpoint e, std::int64_t batch) const;
  // Bytes for a batch size; sizes that are not known count as 1.
  double bytes(Endpoint e, std::int64_t batch) const;
  // True if this size, found in shape() or ints(), grows with the batch.
  bool follows_batch(std::int64_t size) const { return !only_ && size >= at_.batch; }

  const OutputIndex& index() const { return index_; }
  const std::vector<NodeId>& order() const { return order_; }  // topological

 private:
  Sizes(const Graph& graph, std::vector<NodeId> order) : graph_(&graph), order_(std::move(order)), index_(graph) {}
  void keep_functions(const std::vector<InferredShapes>& others);
  // Forgets what follows lengths that examples brought.
  void forget_lengths(const SizesRequest& request);
  void keep_equal(const InferredShapes& other);

  const Graph* graph_;
  std::vector<NodeId> order_;
  OutputIndex index_;
  InferredShapes at_, twice_;         // nominal, and at twice the batch
  std::optional<std::int64_t> only_;  // the one batch size
  std::int64_t smallest_ = 1, largest_ = 1;
  struct Covered {
    int dim;
    std::int64_t least, most;  // lengths
  };
  std::map<NodeId, std::vector<Covered>> covered_;  // by fed node: its open sizes
};

}  // namespace argosy
