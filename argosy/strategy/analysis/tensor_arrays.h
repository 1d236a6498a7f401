// Follows stacks and TensorArrays, the containers that live for one step. Loops keep values for their gradients in
// them. An element has the shape of the value that was stored, which no edge of the graph shows. Internal to strategy/.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// True if the node makes, fills, reads or closes a stack or a TensorArray.
bool is_tensor_array_op(const Node& n);

class TensorArrays {
 public:
  // The graph is borrowed.
  explicit TensorArrays(const Graph& graph);

  bool empty() const { return values_.empty(); }
  // Returns the node that made the container which this node makes, fills or reads. An array of gradients counts as the
  // array that it belongs to: their elements have equal shapes.
  std::optional<NodeId> array_of(const Node& n) const;

  // A stored value: one element, or all elements along axis 0 (`stacked`).
  struct Stored {
    Endpoint from;
    bool stacked = false;
  };
  // Returns the values stored in a container, as the graph is now. Values stored in arrays of gradients are left out.
  std::vector<Stored> values(NodeId container) const;
  // A topological order in which reads follow the writes of their container, except where both are in one loop.
  Result<std::vector<NodeId>> order() const;

  // Returns the shape of the value that this node reads, given the shapes of stored values by `shape_of`. Nothing if
  // that is not known, or if the node reads nothing.
  using ShapeOf = std::function<const PartialShape*(Endpoint)>;  // null: not known yet
  std::optional<PartialShape> read_shape(const Node& n, const ShapeOf& shape_of) const;
  // Returns the endpoint whose value this node forwards: the value pushed on the stack, or the size that the array was
  // made with. This holds if the value is the same in every iteration of its loop. Nothing where that is not known.
  std::optional<Endpoint> forwarded(const Node& n) const;

 private:
  std::optional<NodeId> follow(const Node& n, bool& of_gradients) const;
  void wait_for_values(Graph& waiting, bool arrays) const;

  const Graph& graph_;
  struct Put {
    NodeId by;
    int input;
  };
  std::unordered_map<NodeId, std::vector<Put>> values_;  // by the node that makes the container
};

}  // namespace argosy
