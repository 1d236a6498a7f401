// A graph written for batches of one size, and its shapes for another: what follows the batch, and where something
// stands in the way. The graph may be edited meanwhile (argosy/strategy/batch_size/dynamic_batch.cc does); what was inferred before is
// inferred again. Internal to strategy/.
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

  // Finds loops, and the shapes in them, which an import leaves open. To be called first.
  Status start();
  // Every node that was there at the start after all it depends on.
  const std::vector<NodeId>& order() const { return order_; }

  // --- inferring ---
  // Output 0 has the batch as axis 0.
  Status add_input(NodeId id);
  // False: the node's shapes do not fit together. ARG-DP-010: they do, but examples are mixed.
  Result<bool> infer(NodeId id);
  // Nodes added to the graph since the last call. In a loop, those that take nothing are made to wait for `anchor`,
  // which is in it: so they are, too.
  Status infer_added(NodeId anchor = {});
  // The node was changed, or something that it takes.
  void edited(NodeId id) { known(id).edited = true; }
  // Never inferred, or not since something changed that it depends on.
  bool is_stale(NodeId id) const;
  // Would the node's shapes fit together if these inputs had the batch on these axes?
  using AxisAssignments = std::vector<std::pair<int, int>>;  // (input, axis)
  bool would_fit(NodeId id, const AxisAssignments& following);

  // --- what is known ---
  bool was_seen(NodeId id) const { return known(id).changed != 0; }
  bool follows(Endpoint e) const { return e.index >= 0 && was_seen(e.node) && layout(e).axis >= 0; }
  // REQUIRES: was_seen().
  const BatchLayout& layout(Endpoint e) const { return known(e.node).layouts[static_cast<std::size_t>(e.index)]; }
  // Integers that are the same for any batch; nothing where they follow it or are not known.
  std::optional<std::vector<std::int64_t>> fixed_integers(Endpoint e) const;
  // In how many loops.
  int depth(NodeId id) const;
  // Of a NextIteration: the Merge that it goes to.
  std::optional<NodeId> goes_to(NodeId id) const;
  const TensorArrays& arrays() const { return arrays_; }

  // ARG-DP-010: "the graph is written for batches of 32, and 'node' (Op) <why>".
  Status refuse(const Node& n, std::string_view why) const;

 private:
  struct Known {
    NodeId copy;
    std::int64_t changed = 0;  // when it was inferred last; 0: never
    bool edited = false;       // in the graph, since then
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
  std::vector<int> depths_;   // by node
  Graph copies_;              // the nodes for the other batch; some many times, of which the last counts
  std::vector<Known> known_;  // by node
  std::int64_t time_ = 0;
};

}  // namespace argosy
