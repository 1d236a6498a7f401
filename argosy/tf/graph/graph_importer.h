// GraphImporter: converts NodeDefs into nodes of a Graph of ours, when a value that was asked for needs them.
// Internal to argosy/tf. Not thread-safe.
//
// * Inputs are converted before the nodes that take them, depth first and without recursion.
// * Nodes of a loop may come in any order: the output of a NextIteration is connected to its Merge at the end.
// * A node that cannot be converted keeps its error, and so do the nodes that need it. Other nodes are not affected.
// * A node of an unknown op behind a Switch or in a branch may never run. "_Missing" nodes stand for its outputs. They
//   are live when it would be, and fail the step that reaches them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "argosy/tf/graph/node_builder.h"

namespace argosy::tf {

class GraphImporter {
 public:
  // One input of a node, as spelled: which node, and what of it.
  struct Input {
    static constexpr std::int32_t kControl = -1;
    static constexpr std::int32_t kWholeArg = -2;  // all outputs of the argument `out`
    std::int32_t node;
    std::int32_t index;         // of the output; with `out`, within that argument
    std::string_view out = {};  // of the node's op; empty: `index` counts all outputs
  };

  // Nodes go to `graph`. Both stay where they are.
  GraphImporter(Graph& graph, const BuildContext& context) : graph_(graph), context_(context) {}

  // Adds a node, not yet converted; `source.def` is borrowed. Inputs may name nodes that are added later.
  std::int32_t add(const NodeSource& source, std::span<const Input> inputs);
  // One that is in the graph already: a parameter.
  std::int32_t add_converted(NodeId id);

  // Converts these nodes and what they need. Errors are kept: see status().
  void convert(std::span<const std::int32_t> roots);
  // What is fed in place of output `index` of a node that could not be converted: a node of op "_Missing", which has
  // that node's error when it is not fed. What failed for want of it may be converted from now on. Its dtype is what
  // the nodes that take it say; the node's own error if none does. REQUIRES: convert() failed on the node.
  Result<Endpoint> stand_in(std::int32_t node, std::int32_t index);
  // OK when what `input` means is there, or something stands for it: of this dtype, where its op does not exist and the
  // step may not need it. Else the node's error.
  Status provide(const Input& input, DType dtype);
  // The node in the graph that stands where this one does, in order. REQUIRES: provide() gave OK for its kControl.
  NodeId ordered(std::int32_t node) const;
  // The nodes in the graph that name one of these functions, directly, and all that need them, get `error`.
  void fail_callers(const std::vector<std::string>& functions);

  // Every node converted so far, in that order.
  std::span<const std::int32_t> done() const { return done_; }

  int size() const { return static_cast<int>(nodes_.size()); }
  bool converted(std::int32_t node) const { return nodes_[node].state == State::kDone; }
  // OK for nodes that were not asked for yet.
  const Status& status(std::int32_t node) const;
  // REQUIRES: converted(node).
  NodeId id(std::int32_t node) const { return nodes_[node].id; }
  // What an input means: one endpoint, or several. REQUIRES: its node is converted.
  Status resolve(const Input& input, std::vector<Endpoint>& to) const;
  const NodeSource& source(std::int32_t node) const { return nodes_[node].source; }
  std::span<const Input> inputs(std::int32_t node) const {
    return std::span(inputs_).subspan(nodes_[node].first_input, nodes_[node].num_inputs);
  }

 private:
  enum class State : std::uint8_t { kNew, kOpen, kDone, kFailed };
  struct Entry {
    NodeSource source;
    std::size_t first_input = 0;
    std::uint32_t num_inputs = 0;
    State state = State::kNew;
    bool is_merge = false, closes_loop = false;
    bool is_switch = false;
    bool chosen = false;  // behind a Switch, or the whole set is
    bool absent = false;  // chosen, and its op does not exist
    NodeId id = {};
    std::int32_t error = -1;  // in errors_
  };
  struct OpenLoop {
    std::int32_t merge, next;
    std::size_t position;  // among the Merge's data inputs
    std::int32_t index;
  };

  bool is_back_edge(const Entry& node, const Input& input) const {
    return node.is_merge && input.index != Input::kControl && nodes_[input.node].closes_loop;
  }
  using StandIn = std::tuple<std::int32_t, std::int32_t, std::string>;  // as Input
  static StandIn key(const Input& input) { return {input.node, input.index, std::string(input.out)}; }
  // Is the input there, or can something stand for it? `position` among the data inputs of `node`.
  bool provided(const Input& input, std::int32_t node, int position);
  Status stand_for(const Input& input, DType dtype);
  Result<NodeId> add_missing(std::int32_t node, std::int32_t index, DType dtype, std::vector<NodeId> controls);
  void convert_one(std::int32_t root);
  void build(std::int32_t node);
  Result<NodeId> try_build(std::int32_t node, std::vector<OpenLoop>& loops);
  void close_loops(std::size_t first);
  Status close(std::int32_t merge, std::span<const OpenLoop> loops);
  void fail(std::int32_t node, Status error);
  void fail_as(std::int32_t node, std::int32_t error);
  void spread_failures();
  DType wanted_dtype(const Input& wanted) const;

  Graph& graph_;
  BuildContext context_;
  std::vector<Entry> nodes_;
  std::vector<Input> inputs_;
  std::vector<Status> errors_;
  std::vector<std::pair<std::int32_t, std::uint32_t>> stack_;  // (node, next input)
  std::vector<OpenLoop> loops_;
  std::vector<std::int32_t> done_;                             // every node converted, in that order
  std::vector<std::pair<std::int32_t, std::string>> callers_;  // (node, function it names)
  std::map<StandIn, Endpoint> stand_ins_;
};

}  // namespace argosy::tf
