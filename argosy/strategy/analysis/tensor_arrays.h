// What a step keeps for itself alone: stacks, in which loops leave values for their gradients, and TensorArrays. An
// element is as large as what was put in, which no edge of the graph tells. Internal to strategy/.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// Makes, fills, reads or closes a stack or a TensorArray.
bool is_tensor_array_op(const Node& n);

class TensorArrays {
 public:
  // The graph is borrowed.
  explicit TensorArrays(const Graph& graph);

  bool empty() const { return values_.empty(); }
  // The stack or array that this node makes, fills or reads; of the array of gradients, that whose gradients it has:
  // their elements are as large.
  std::optional<NodeId> array_of(const Node& n) const;

  // A value that is put in: an element, or all of them along axis 0.
  struct Stored {
    Endpoint from;
    bool stacked = false;
  };
  // Those of a container, as the graph is now. (What is put into arrays of gradients is not told of.)
  std::vector<Stored> values(NodeId container) const;
  // Every node after all it depends on, and what takes something out after what is put in, where they are in no loop
  // together.
  Result<std::vector<NodeId>> order() const;

  // The shape of what this node takes out, where values have the shapes that `shape_of` tells; nothing where that is
  // not known, or it takes nothing out.
  using ShapeOf = std::function<const PartialShape*(Endpoint)>;  // null: not known yet
  std::optional<PartialShape> read_shape(const Node& n, const ShapeOf& shape_of) const;
  // The endpoint whose value, wherever it is the same in every iteration of its loop, this node gives, too: what was put on
  // the stack, how many elements the array was made for. Nothing where that cannot be told.
  std::optional<Endpoint> forwarded(const Node& n) const;

 private:
  std::optional<NodeId> follow(const Node& n, bool& of_gradients) const;
  void wait_for_values(Graph& waiting, bool arrays) const;

  const Graph& graph_;
  struct Put {
    NodeId by;
    int input;
  };
  std::unordered_map<NodeId, std::vector<Put>> values_;  // by what makes the container
};

}  // namespace argosy
