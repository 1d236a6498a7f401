// Shapes and known integers of all values of a graph for one size of the batch. The graph stays as it is. Internal to
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
  std::map<Endpoint, HandleFact> handles;        // what outputs refer to, where that is known
};

// `given`: shapes of nodes whose output 0 is not inferred. `order`: topological. The value that a loop carries has the
// sizes that are the same in every iteration. An error: the shapes do not fit together for this batch. Behind a Switch,
// shapes that fit together for no batch are no error: what they give is unknown.
Result<InferredShapes> infer_shapes(const Graph& graph, const OutputIndex& index, const std::vector<NodeId>& order,
                                    const std::map<NodeId, PartialShape>& given, std::int64_t batch);

}  // namespace argosy
