// ImportNodes: the nodes of one graph or function body during its import: definition, inputs, state and error of each.
// Internal to argosy/tf. Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "argosy/tf/graph/node_builder.h"

namespace argosy::tf {

// One input of a node, as the GraphDef spells it: the source node, and which of its outputs.
struct ImportInput {
  static constexpr std::int32_t kControl = -1;
  static constexpr std::int32_t kWholeArg = -2;  // all outputs of the argument `out`
  std::int32_t node;
  std::int32_t index;         // of the output; with `out`, within that output argument
  std::string_view out = {};  // name of an output argument of the op; empty: `index` counts all outputs
};

enum class ImportState : std::uint8_t { kNew, kOpen, kDone, kFailed };

struct ImportNode {
  NodeSource source;
  std::size_t first_input = 0;  // in ImportNodes
  std::uint32_t num_inputs = 0;
  ImportState state = ImportState::kNew;
  bool is_merge = false, closes_loop = false;
  bool is_switch = false;
  bool chosen = false;      // it depends on a Switch, or is in a branch's body: a step may not execute it
  bool absent = false;      // chosen, and its op does not exist
  NodeId id = {};           // in the graph; set once kDone
  std::int32_t error = -1;  // index of its error in ImportNodes; set once kFailed
};

// Nodes are identified by a number, in order of add().
class ImportNodes {
 public:
  // `source.def` is borrowed. Inputs may name nodes that are added later.
  std::int32_t add(const NodeSource& source, std::span<const ImportInput> inputs);
  // Adds a node that is already in the graph: a parameter of a function.
  std::int32_t add_converted(NodeId id);

  int size() const { return static_cast<int>(nodes_.size()); }
  ImportNode& operator[](std::int32_t node) { return nodes_[node]; }
  const ImportNode& operator[](std::int32_t node) const { return nodes_[node]; }
  std::span<const ImportNode> all() const { return nodes_; }
  std::span<const ImportInput> inputs(std::int32_t node) const { return inputs(nodes_[node]); }
  std::span<const ImportInput> inputs(const ImportNode& node) const {
    return std::span(inputs_).subspan(node.first_input, node.num_inputs);
  }

  // OK unless the node failed.
  const Status& status(std::int32_t node) const;
  // Mark a node as failed: with an error of its own, or with an error that another node has.
  void fail(std::int32_t node, Status error);
  void fail_as(std::int32_t node, std::int32_t error);

 private:
  std::vector<ImportNode> nodes_;
  std::vector<ImportInput> inputs_;
  std::vector<Status> errors_;
};

}  // namespace argosy::tf
