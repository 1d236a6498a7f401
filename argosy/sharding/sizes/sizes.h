// Sizes: shapes and integers of a graph as functions of the batch size, element by element: times * batch + plus.
//
//   x [batch, 6]          Shape(x)          { batch, 6 }              dimension 0 of x: 1 * batch + 0
//   concat(x, x, zeros)   Shape(…)          { 2 * batch + 1, 6 }
//                         Shape(x)[0] / 2   not known: no such function
//
// Shapes are inferred for several batch sizes. A size is known if one function times * batch + plus fits all of them.
//
// A size that is data, in an integer tensor, is always the *global* size, so it is R on every mesh axis. The size of a
// shard follows from the global size and the placement of the dimension (cut.h). The sizes of all shards add up to the
// global size: they are P(sum).
// * A size operand (OperandRule::Kind::kSizes) is an exception: each device's copy gets the sizes of its own shard.
// * A node that reads only the shape of an input (kShapeOnly) gets the global shape.
//
// Neither moves data between devices: the host knows the global batch from the feeds.
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

struct AffineSize {
  std::int64_t times = 0, plus = 0;
  std::int64_t at(std::int64_t batch) const { return times * batch + plus; }
  friend bool operator==(const AffineSize&, const AffineSize&) = default;
};

struct SizesRequest {
  std::vector<NodeId> batch;  // nodes whose output 0 has the batch as dimension 0: fed placeholders
  // Example shapes of fed nodes, for dimensions that the graph leaves open: their *lengths*. Sizes that depend on a
  // length are unknown. Lengths between the shortest and the longest that fit are covered, see fits(): a size that is
  // monotone in a length, and equal at both ends, is equal between them.
  std::map<NodeId, Shape> examples = {};
  std::optional<std::int64_t> exactly = {};  // the only batch size to find sizes for; unset: any
};

class Sizes {
 public:
  // The graph is borrowed. If a batch node has a static first size, sizes are found for that batch size alone.
  // INVALID_ARGUMENT ARG-SHARD-011: the shapes do not fit together for any, or for this, batch size; two batch nodes
  // have different static sizes.
  static Result<Sizes> find(const Graph& graph, const SizesRequest& request);

  // The batch size for which shape() and ints() are. It is large, so that sizes that depend on it are told apart from
  // others.
  std::int64_t nominal() const { return at_.batch; }
  // True if sizes are found for one batch size alone, nominal(). Then all known sizes are constants.
  bool is_exact() const { return only_.has_value(); }
  // True if the sizes are valid for this batch size.
  bool covers(std::int64_t batch) const { return only_ ? batch == *only_ : batch >= smallest_ && batch <= largest_; }
  // False if a length of the fed node is outside of those that were tried: the sizes are not valid for it.
  bool fits(NodeId fed, const Shape& shape) const;

  // The shape at the nominal batch size. Sizes that are no function of the batch are unknown.
  const PartialShape& shape(Endpoint e) const { return at_.shapes[index_(e)]; }
  const PartialInts* ints(Endpoint e) const {
    const auto& known = at_.ints[index_(e)];
    return known ? &*known : nullptr;
  }
  const HandleFact* handle(Endpoint e) const;

  // The size of a dimension, or an element of an integer tensor, as a function of the batch; nullopt: not known.
  std::optional<AffineSize> dim(Endpoint e, int dim) const;
  std::optional<AffineSize> element(Endpoint e, int element) const;
  // The shape for a batch size. Sizes that are not known stay unknown.
  PartialShape shape(Endpoint e, std::int64_t batch) const;
  // The bytes for a batch size. Sizes that are not known count as 1, elements of strings and handles as 8 bytes.
  double bytes(Endpoint e, std::int64_t batch) const;
  // True if this size, taken from shape() or ints(), depends on the batch: it is at least nominal().
  bool follows_batch(std::int64_t size) const { return !only_ && size >= at_.batch; }

  const OutputIndex& index() const { return index_; }
  const std::vector<NodeId>& order() const { return order_; }  // topological

 private:
  Sizes(const Graph& graph, std::vector<NodeId> order) : graph_(&graph), order_(std::move(order)), index_(graph) {}
  void keep_functions(const std::vector<InferredShapes>& others);
  // Makes sizes unknown that depend on lengths of examples, and finds the lengths that are covered.
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
