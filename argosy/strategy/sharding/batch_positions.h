// What integers say of where in the batch examples lie. A shard counts its own from 0: good for taking rows of its own,
// and for nothing else. Internal to strategy/.
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

  // To be called for every node on the way, in topological order, before it is asked about.
  void record(const Node& n, NodeId id) { of_[id.index] = find(n, id); }

  // Why this node makes of such integers what shards would make otherwise: nothing where it does not.
  //   - rows are taken, or put, by numbers that do not count the shard's own examples: fed ones, a permutation;
  //   - something is computed with where in the batch an example lies: an embedding of row numbers, one_hot of them.
  std::optional<std::string> misuse(const Node& n, NodeId id);

 private:
  enum class Kind : char {
    kNone,
    kCount,  // a number computed from how many there are
    kOwn,    // each of an example of the shard
    kOdd,    // computed with such
  };
  struct Position {
    Kind kind = Kind::kNone;
    // kOwn: how many entries an example has of what may be taken by them: i * span + something below span. 0: numbers
    // among different ones of a shard's values (Unique).
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
  std::vector<Position> of_;  // by node, of the output that has one
};

}  // namespace argosy
