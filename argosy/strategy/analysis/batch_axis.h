// Finds which values of a graph carry the batch, and on which axis.
//
// The shape functions run twice, with the batch inputs at two batch sizes. An axis whose size follows the batch size
// carries the batch. This holds for every op, ours or imported: no op is known by name. Immutable; thread-safe.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/strategy/analysis/batch_layout.h"

namespace argosy {

class TensorArrays;

class BatchAxes {
 public:
  // Results of axis() that are no axis.
  static constexpr int kNone = -1;     // no axis follows the batch
  static constexpr int kUnknown = -2;  // the shape functions cannot decide
  static constexpr int kSeveral = -3;  // more than one axis follows: examples paired with examples

  // Shapes that fed nodes may have in one step, for sizes that the graph leaves open.
  using Examples = std::map<NodeId, Shape>;

  // `inputs`: nodes whose output 0 has the batch as axis 0 (placeholders). The graph is borrowed for the call. A size
  // that neither the graph nor an example gives makes the axis kUnknown. INVALID_ARGUMENT ARG-DP-011: the shapes do not
  // fit together when all inputs have the same number of examples.
  static Result<BatchAxes> find(const Graph& graph, const std::vector<NodeId>& inputs, const Examples& examples = {});

  // True if the node is computed from a batch input, or from its shape: its value differs from shard to shard.
  bool depends(NodeId id) const { return depends_[id.index]; }
  int axis(Endpoint e) const;
  // Elements of the batch axis per example. 0: not known, or another axis follows the batch, too.
  std::int64_t rows_per_example(Endpoint e) const;
  // How often the batch repeats along its axis. 0: not known.
  // - 1: the rows of an example lie together, [batch * time].
  // - time: [time * batch], as after a transpose and a reshape that joins the two axes.
  std::int64_t repeats(Endpoint e) const;
  // True if each example has equally many rows of the batch axis, which lie together and in the order of the batch.
  // They are computed from that example and from values that are the same for all examples.
  bool is_contiguous_in_batch(Endpoint e) const { return repeats(e) == 1 && preserves_example_order(e.node); }
  // True if sizes are known and inputs keep one group of rows per example. False after ops that choose or renumber
  // rows, as Unique, Where and Range do.
  bool preserves_example_order(NodeId id) const { return preserves_example_order_[id.index] != 0; }
  // Length of the batch axis at the two batch sizes. Values with equal lengths have rows that belong together.
  std::pair<std::int64_t, std::int64_t> lengths(Endpoint e) const;
  // Number of elements of a value without a batch axis; -1: not known.
  std::int64_t elements(Endpoint e) const;
  // True for integers that are known to grow in proportion to the batch size: a number of examples.
  bool scales_with_batch(Endpoint e) const;
  // Integers that are computed from the batch's shape and do not follow the batch size, such as an image's height. An
  // empty list: the value is the same for every batch of these examples, and other feeds may give another one.
  const std::map<Endpoint, std::vector<std::int64_t>>& static_sizes() const { return static_sizes_; }

 private:
  enum class Ints : char { kUnknown, kFixed, kGrow };  // what is known of an integer output at the two sizes
  struct PerOutput {
    BatchLayout layout;
    std::int64_t elements = -1;
    std::pair<std::int64_t, std::int64_t> lengths = {};
    Ints ints = Ints::kUnknown;
  };
  static Ints follows(const PartialInts* small, const PartialInts* large);
  bool reached(const Node& n, NodeId id) const;

  void find_layouts(const Graph& graph, const std::vector<NodeId>& order, const TensorArrays& arrays);
  // Random numbers and constant rows (Fill, masks) have no examples of their own. They take the layout of the values
  // that they first meet element by element. Returns true if the layout of some changed.
  bool propagate_from_consumers(const Graph& graph, const std::vector<NodeId>& order);
  std::vector<BatchLayout> layouts_of_inputs(const Node& n, const std::vector<char>& seen) const;

  std::vector<char> depends_;
  std::vector<char> preserves_example_order_;    // by node, where it depends
  std::vector<std::vector<PerOutput>> outputs_;  // by node
  // By node that propagate_from_consumers() has placed: its repeats, where they are not 1.
  std::map<NodeId, std::int64_t> consumer_repeats_;
  std::map<Endpoint, std::vector<std::int64_t>> static_sizes_;
};

// The placeholders with an unknown first size that `from` is computed from: the batch inputs.
std::vector<NodeId> batch_placeholders(const Graph& graph, const std::vector<NodeId>& from);

// True if the op reads the shape of its input and not the elements.
bool reads_shape_only(const OpDef& op);

}  // namespace argosy
