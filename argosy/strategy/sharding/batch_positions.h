// Tracks integers that hold positions of examples in the batch. A shard counts its own examples from 0, so these
// numbers may index the shard's own rows and nothing else. Internal to strategy/.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/strategy/analysis/batch_axis.h"
#include "argosy/strategy/sharding/device_varying.h"

namespace argosy {

class BatchPositions {
 public:
  // The graph and its axes are borrowed.
  BatchPositions(const Graph& graph, const BatchAxes& axes, Varying& varies)
      : graph_(graph), axes_(axes), varies_(varies), of_(graph.size()) {}

  // Call this for every node in topological order, before misuse() of the node.
  void record(const Node& n, NodeId id) { of_[id.index] = find(n, id); }

  // Returns why this node would give another result on a shard; nothing where it would not. Misuses are:
  // - Rows are gathered or scattered by numbers that do not count the shard's own examples: fed ones, a permutation.
  // - A value is computed from the position of an example: an embedding or a one_hot of row numbers.
  std::optional<std::string> misuse(const Node& n, NodeId id);

 private:
  enum class Kind : char {
    kNone,
    kCount,  // a number computed from the number of examples
    kOwn,    // numbers of the shard's own examples
    kOdd,    // computed from such numbers
  };
  struct Position {
    Kind kind = Kind::kNone;
    // kOwn: entries per example of the value that may be indexed; the number is i * span + an offset below span. 0:
    // numbers among the distinct values of a shard (Unique).
    std::int64_t span = 0;
  };

  bool has_rows(Endpoint e) const { return axes_.axis(e) >= 0; }
  bool placed(Endpoint e) const { return of(e).kind >= Kind::kOwn; }
  Position of(Endpoint e) const;
  Position find(const Node& n, NodeId id) const;
  Position counted(const Node& n, NodeId id) const;
  Position computed(const Node& n) const;
  bool passes_through(const Node& n) const;
  bool takes_along_batch(const Node& n) const;
  Position row_number(Endpoint indices, int axis) const;
  bool takes_own(const Node& n) const;
  std::optional<std::string> puts_others(const Node& n, NodeId id);

  const Graph& graph_;
  const BatchAxes& axes_;
  Varying& varies_;
  std::vector<Position> of_;  // by node, of the output that has a position
};

}  // namespace argosy
