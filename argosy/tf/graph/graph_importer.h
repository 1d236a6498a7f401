// GraphImporter: converts NodeDefs into nodes of a Graph of ours, when a value that was asked for needs them.
// Internal to argosy/tf. Not thread-safe.
//
// * Inputs are converted before the nodes that take them, depth first and without recursion.
// * Nodes of a loop may come in any order: the output of a NextIteration is connected to its Merge at the end.
// * A node that cannot be converted keeps its error, and so do the nodes that need it. Other nodes are not affected.
// * An import that is interrupted (argosy/base/threads/interrupt.h) keeps what was converted; the next call goes on.
// * A node of an unknown op behind a Switch or in a branch may never run. "_Missing" nodes stand for its outputs. They
//   are live when it would be, and fail the step that reaches them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "argosy/base/threads/interrupt.h"
#include "argosy/tf/graph/import_nodes.h"
#include "argosy/tf/graph/stand_ins.h"

namespace argosy::tf {

class GraphImporter {
 public:
  using Input = ImportInput;

  // Nodes go to `graph`. Both stay where they are.
  GraphImporter(Graph& graph, const BuildContext& context) : graph_(graph), context_(context) {}
  GraphImporter(const GraphImporter&) = delete;
  GraphImporter& operator=(const GraphImporter&) = delete;

  // Adds a node, not yet converted; `source.def` is borrowed. Inputs may name nodes that are added later.
  std::int32_t add(const NodeSource& source, std::span<const Input> inputs) { return nodes_.add(source, inputs); }
  // Adds a node that the graph has already: a parameter.
  std::int32_t add_converted(NodeId id) { return nodes_.add_converted(id); }

  // Converts these nodes and everything that they need. Errors are kept: see status(). May throw Interrupted.
  void convert(std::span<const std::int32_t> roots);
  // The value to feed in place of output `index` of a node that failed (stand_ins.h).
  // REQUIRES: convert() failed on the node.
  Result<Endpoint> stand_in(std::int32_t node, std::int32_t index) { return stand_ins_.stand_in(node, index); }
  // OK when the value of `input` exists, or a stand-in for it does. Else the node's error.
  Status provide(const Input& input, DType dtype) { return stand_ins_.provide(input, dtype); }
  // The node of the graph to order after. REQUIRES: provide() gave OK for its kControl.
  NodeId ordered(std::int32_t node) const { return stand_ins_.ordered(node); }
  // Gives `error` to the converted nodes that name one of these functions, and to all nodes that need them.
  void fail_callers(const std::vector<std::string>& functions);

  // Every node converted so far, in that order.
  std::span<const std::int32_t> done() const { return done_; }

  int size() const { return nodes_.size(); }
  bool converted(std::int32_t node) const { return nodes_[node].state == ImportState::kDone; }
  // OK for nodes that were not asked for yet.
  const Status& status(std::int32_t node) const { return nodes_.status(node); }
  // REQUIRES: converted(node).
  NodeId id(std::int32_t node) const { return nodes_[node].id; }
  // Appends the endpoints that an input means. REQUIRES: provide() gave OK for it.
  Status resolve(const Input& input, std::vector<Endpoint>& to) const { return stand_ins_.resolve(input, to); }
  const NodeSource& source(std::int32_t node) const { return nodes_[node].source; }
  std::span<const Input> inputs(std::int32_t node) const { return nodes_.inputs(node); }

 private:
  struct OpenLoop {
    std::int32_t merge, next;
    std::size_t position;  // among the Merge's data inputs
    std::int32_t index;
  };

  bool is_back_edge(const ImportNode& node, const Input& input) const {
    return node.is_merge && input.index != Input::kControl && nodes_[input.node].closes_loop;
  }
  void convert_one(std::int32_t root);
  void build(std::int32_t node);
  Result<NodeId> try_build(std::int32_t node, std::vector<OpenLoop>& loops);
  void close_loops(std::size_t first);
  Status close(std::int32_t merge, std::span<const OpenLoop> loops);

  Graph& graph_;
  BuildContext context_;
  ImportNodes nodes_;
  StandIns stand_ins_{graph_, context_, nodes_};
  Poll interrupts_{64};
  std::vector<std::pair<std::int32_t, std::uint32_t>> stack_;  // (node, next input)
  std::vector<OpenLoop> loops_;
  std::vector<std::int32_t> done_;                             // every node converted, in that order
  std::vector<std::pair<std::int32_t, std::string>> callers_;  // (node, function it names)
};

}  // namespace argosy::tf
