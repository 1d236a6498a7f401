// Infers shapes and known integers of all values of a graph for one batch size, without changing the graph. Internal to
// sizes/.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// Positions of all outputs of a graph in one array.
class OutputIndex {
 public:
  explicit OutputIndex(const Graph& graph);
  std::size_t size() const { return static_cast<std::size_t>(first_.back()); }
  std::size_t operator()(Endpoint e) const {
    return static_cast<std::size_t>(first_[static_cast<std::size_t>(e.node.index)] + e.index);
  }

 private:
  std::vector<std::int32_t> first_;  // by node, and the end
};

struct InferredShapes {
  std::int64_t batch = 0;
  std::vector<PartialShape> shapes;              // by output
  std::vector<std::optional<PartialInts>> ints;  // by output
  std::map<Endpoint, HandleFact> handles;        // by output: the value behind the handle, if it is known
};

// `given`: shapes of output 0 of nodes that are not inferred. `order`: a topological order. A value that a loop carries
// has the sizes that are equal in every iteration; the others are unknown. An error: the shapes do not fit together for
// this batch. Exception: behind a Switch, outputs of a node whose shapes fit together for no batch are unknown.
Result<InferredShapes> infer_shapes(const Graph& graph, const OutputIndex& index, const std::vector<NodeId>& order,
                                    const std::map<NodeId, PartialShape>& given, std::int64_t batch);

}  // namespace argosy
