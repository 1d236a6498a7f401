// Infers the shapes of a graph with a static batch size for another batch size. Finds which values follow the batch and
// where shapes conflict. The graph may be edited meanwhile (dynamic_batch.cc does): edited nodes are inferred again.
// Internal to strategy/.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/strategy/analysis/batch_layout.h"
#include "argosy/strategy/analysis/tensor_arrays.h"

namespace argosy {

class BatchReinference {
 public:
  // Borrows the graph, whose inputs have `batch` rows now.
  BatchReinference(Graph& graph, std::int64_t batch);

  // Finds loops and the shapes in them, which an import leaves open. Call this first.
  Status start();
  // A topological order of the nodes that existed at start().
  const std::vector<NodeId>& order() const { return order_; }

  // --- inferring ---
  // Declares that output 0 of the node has the batch as axis 0.
  Status add_input(NodeId id);
  // Infers the node. False: its shapes do not fit together. ARG-DP-010: they fit, but examples are mixed.
  Result<bool> infer(NodeId id);
  // Infers nodes that were added since the last call. Inside a loop, a new node without inputs gets a control input
  // from `anchor`, a node of that loop, so that it is in the loop, too.
  Status infer_added(NodeId anchor = {});
  // Call this after the node or one of its inputs was changed.
  void edited(NodeId id) { known(id).edited = true; }
  // True if the node was never inferred, or if something that it depends on has changed since.
  bool is_stale(NodeId id) const;
  // True if the node's shapes would fit together with the batch on these axes of these inputs.
  using AxisAssignments = std::vector<std::pair<int, int>>;  // (input, axis)
  bool would_fit(NodeId id, const AxisAssignments& following);

  // --- what is known ---
  bool was_seen(NodeId id) const { return known(id).changed != 0; }
  bool follows(Endpoint e) const { return e.index >= 0 && was_seen(e.node) && layout(e).axis >= 0; }
  // REQUIRES: was_seen().
  const BatchLayout& layout(Endpoint e) const { return known(e.node).layouts[static_cast<std::size_t>(e.index)]; }
  // Integers that do not depend on the batch size. Nothing where they do, or where they are not known.
  std::optional<std::vector<std::int64_t>> fixed_integers(Endpoint e) const;
  // Loop nesting depth.
  int depth(NodeId id) const;
  // Of a NextIteration: its Merge.
  std::optional<NodeId> goes_to(NodeId id) const;
  const TensorArrays& arrays() const { return arrays_; }

  // ARG-DP-010: "the graph is written for batches of 32, and 'node' (Op) <why>".
  Status refuse(const Node& n, std::string_view why) const;

 private:
  struct Known {
    NodeId copy;
    std::int64_t changed = 0;  // time of the last inference; 0: never
    bool edited = false;       // the graph has changed here since then
    bool input = false;
    SmallVector<BatchLayout, 1> layouts;
  };
  Known& known(NodeId id) { return known_[static_cast<std::size_t>(id.index)]; }
  const Known& known(NodeId id) const { return known_[static_cast<std::size_t>(id.index)]; }
  Endpoint copy(Endpoint e) const { return {known(e.node).copy, e.index}; }
  NodeSpec spec(NodeId id);
  Result<NodeId> add_placeholder(DType dtype, PartialShape shape);
  Status note(NodeId id, NodeId copy);
  Result<BatchLayout> find_layout(const Node& n, Endpoint e) const;

  Graph& graph_;
  const std::int64_t batch_;
  const TensorArrays arrays_;
  std::vector<NodeId> order_;
  std::map<NodeId, NodeId> goes_to_;
  std::vector<int> depths_;  // by node
  // The nodes at the other batch size. A node may be there several times; the last one counts.
  Graph copies_;
  std::vector<Known> known_;  // by node
  std::int64_t time_ = 0;
};

}  // namespace argosy
