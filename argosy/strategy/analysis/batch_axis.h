// Which values of a graph carry the batch, and on which axis.
//
// Found by asking the shape functions twice: the graph is rebuilt with its batch inputs at two sizes of batch, and an
// axis whose size follows the batch carries it. That holds for every op, ours or imported, without knowing any of them.
// Immutable; thread-safe.
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
  // Axes that say nothing of the batch.
  static constexpr int kNone = -1;     // the batch is no axis of it
  static constexpr int kUnknown = -2;  // the shape functions cannot tell
  static constexpr int kSeveral = -3;  // more than one axis is: samples against samples

  // Shapes that nodes which are fed may have, all together, where the graph leaves sizes open.
  using Examples = std::map<NodeId, Shape>;

  // `inputs`: nodes whose output 0 has the batch as axis 0 (placeholders). The graph is borrowed for the call. Sizes
  // that neither the graph nor an example tells cannot be told to follow the batch or not: kUnknown. INVALID_ARGUMENT
  // ARG-DP-011: shapes do not fit where all these inputs have as many examples.
  static Result<BatchAxes> find(const Graph& graph, const std::vector<NodeId>& inputs, const Examples& examples = {});

  // Computed from a batch input (shapes count): differs from shard to shard.
  bool depends(NodeId id) const { return depends_[id.index]; }
  int axis(Endpoint e) const;
  // How many of that axis's elements every example has; 0 where it cannot be told, or is not the only one that follows.
  std::int64_t rows_per_example(Endpoint e) const;
  // How many times the batch repeats along that axis: once where an example's rows lie together, [batch * time], and
  // `time` times in [time * batch], which the transposed batch becomes when its axes are made one. 0: cannot be told.
  std::int64_t repeats(Endpoint e) const;
  // Every example has as many rows of that axis, one after the other in the order of the batch, computed from it and
  // from what is the same for all.
  bool is_contiguous_in_batch(Endpoint e) const { return repeats(e) == 1 && preserves_example_order(e.node); }
  // Sizes are known and inputs have their examples' rows: nothing on the way chose rows or numbered them anew, as
  // Unique, Where and Range do.
  bool preserves_example_order(NodeId id) const { return preserves_example_order_[id.index] != 0; }
  // How long that axis is with one batch and with another: equal for values whose rows belong together.
  std::pair<std::int64_t, std::int64_t> lengths(Endpoint e) const;
  // Of a value without that axis, whatever the batch; -1 where it cannot be told.
  std::int64_t elements(Endpoint e) const;
  // An integer (or integers) known to grow in proportion to the batch: a number of samples.
  bool scales_with_batch(Endpoint e) const;
  // Integers that are computed from the batch's shape and are the same for a batch of any size, as those of an image
  // are. Empty lists: the same for any batch of these examples, other feeds may have others.
  const std::map<Endpoint, std::vector<std::int64_t>>& static_sizes() const { return static_sizes_; }

 private:
  enum class Ints : char { kUnknown, kFixed, kGrow };  // values of an integer output, as far as they are known
  struct PerOutput {
    BatchLayout layout;
    std::int64_t elements = -1;
    std::pair<std::int64_t, std::int64_t> lengths = {};
    Ints ints = Ints::kUnknown;
  };
  static Ints follows(const PartialInts* small, const PartialInts* large);
  bool reached(const Node& n, NodeId id) const;

  void find_layouts(const Graph& graph, const std::vector<NodeId>& order, const TensorArrays& arrays);
  // Random numbers, and rows that are all alike (Fill, masks), have no examples: theirs are those of what they first
  // meet, element by element. True where some were taken to lie together that do not.
  bool propagate_from_consumers(const Graph& graph, const std::vector<NodeId>& order);
  std::vector<BatchLayout> layouts_of_inputs(const Node& n, const std::vector<char>& seen) const;

  std::vector<char> depends_;
  std::vector<char> preserves_example_order_;    // by node, where it depends
  std::vector<std::vector<PerOutput>> outputs_;  // by node
  std::map<NodeId, std::int64_t>
      consumer_repeats_;  // the repeats of what propagate_from_consumers() is about, other than 1
  std::map<Endpoint, std::vector<std::int64_t>> static_sizes_;
};

// Placeholders from which `from` is computed and whose first size is unknown: where a batch comes in.
std::vector<NodeId> batch_placeholders(const Graph& graph, const std::vector<NodeId>& from);

// Its value follows from the shape of what it looks at alone.
bool reads_shape_only(const OpDef& op);

}  // namespace argosy
