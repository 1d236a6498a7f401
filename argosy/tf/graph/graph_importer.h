// GraphImporter: converts NodeDefs to nodes of our Graph, on demand, when a requested value depends on them.
// Internal to argosy/tf. Not thread-safe.
//
// * Inputs are converted before their consumers, depth first and without recursion.
// * Nodes of a loop may be in any order: the output of a NextIteration is connected to its Merge at the end.
// * A node that cannot be converted keeps its error, and so do the nodes that depend on it. Other nodes are not
//   affected.
// * An interrupted import (argosy/base/threads/interrupt.h) keeps the nodes that it has converted; the next call goes
//   on.
// * A node of an unknown op that depends on a Switch or is in a branch may never run. Its outputs are replaced by
//   "_Missing" nodes. They are dead when the node would be, and fail a step that executes them.
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

  // Adds nodes to `graph`. Both arguments outlive this object and must not be moved.
  GraphImporter(Graph& graph, const BuildContext& context) : graph_(graph), context_(context) {}
  GraphImporter(const GraphImporter&) = delete;
  GraphImporter& operator=(const GraphImporter&) = delete;

  // Adds a node, not yet converted, and returns its number. Borrows `source.def`. Inputs may name nodes added later.
  std::int32_t add(const NodeSource& source, std::span<const Input> inputs) { return nodes_.add(source, inputs); }
  // Adds a node that is already in the graph: a parameter of a function.
  std::int32_t add_converted(NodeId id) { return nodes_.add_converted(id); }

  // Converts these nodes and everything that they depend on. status() returns errors. May throw Interrupted.
  void convert(std::span<const std::int32_t> roots);
  // Returns the value to feed in place of output `index` of a failed node (stand_ins.h).
  // REQUIRES: convert() failed on the node.
  Result<Endpoint> stand_in(std::int32_t node, std::int32_t index) { return stand_ins_.stand_in(node, index); }
  // Makes sure that the value of `input`, or a stand-in for it, exists. Else returns the node's error.
  Status provide(const Input& input, DType dtype) { return stand_ins_.provide(input, dtype); }
  // Returns the node that represents a control input from `node`. REQUIRES: provide() was OK for its kControl.
  NodeId ordered(std::int32_t node) const { return stand_ins_.ordered(node); }
  // Gives the functions' errors to the converted nodes that name one of them, and to all nodes that depend on those.
  void fail_callers(const std::vector<std::string>& functions);

  // The nodes converted so far, in the order of conversion.
  std::span<const std::int32_t> done() const { return done_; }

  int size() const { return nodes_.size(); }
  bool converted(std::int32_t node) const { return nodes_[node].state == ImportState::kDone; }
  // Returns a node's error. OK: it is converted, or was not requested yet.
  const Status& status(std::int32_t node) const { return nodes_.status(node); }
  // REQUIRES: converted(node).
  NodeId id(std::int32_t node) const { return nodes_[node].id; }
  // Appends the endpoints that an input refers to. REQUIRES: provide() was OK for it.
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
  std::vector<std::int32_t> done_;                             // converted nodes, in the order of conversion
  std::vector<std::pair<std::int32_t, std::string>> callers_;  // (node, function it names)
};

}  // namespace argosy::tf
