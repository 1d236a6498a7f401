// Who needs a node of a step: a pass asks before it takes the node into another one, or goes past it.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "argosy/op/definition/opcode.h"
#include "argosy/passes/simplify/prune.h"

namespace argosy {

// The nodes that a step fetches or targets: they must go on giving what they give. The set is that of the time at
// which it was made. Nodes added later are not in it.
class PreservedNodes {
 public:
  explicit PreservedNodes(const StepGraph& step);

  // Fetched, by any output or as the node itself, or a target.
  bool contains(NodeId id) const { return flags(id) != 0; }
  bool is_fetched(NodeId id) const { return (flags(id) & (kFetched | kControl)) != 0; }
  bool is_target(NodeId id) const { return (flags(id) & kTarget) != 0; }
  // A target, or fetched as the node itself (Value::kControl): it has to run even where its values are known.
  bool must_run(NodeId id) const { return (flags(id) & (kControl | kTarget)) != 0; }

 private:
  enum Flag : char { kFetched = 1, kControl = 2, kTarget = 4 };
  int flags(NodeId id) const {
    const auto i = static_cast<std::size_t>(id.index);
    return i < flags_.size() ? flags_[i] : 0;
  }
  std::vector<char> flags_;  // by node, up to the last one that has any
};

// The users of every node, and the preserved ones. The graph must outlive it. Edges that change later are not seen, and
// nodes added later have no users here, until refresh().
class NodeUsers {
 public:
  explicit NodeUsers(const StepGraph& step);

  // Reads the edges again. The preserved nodes stay those of the start.
  void refresh();

  bool is_preserved(NodeId id) const { return preserved_.contains(id); }
  // REQUIRES: the node was there when the edges were read.
  std::span<const Graph::Use> operator[](NodeId id) const { return uses_[id.index]; }

  // The node that alone uses `id`: it reads it by one data edge, and asks for the same device. Nothing where `id` is
  // preserved, has other users or is new.
  std::optional<NodeId> single_user(NodeId id) const;

  // The node behind input `k` of `reader`, if `reader` may take it in: a node of opcode `op` without control inputs, whose
  // single user is `reader`.
  std::optional<NodeId> absorbable_input(NodeId reader, int k, Opcode op) const;

 private:
  const Graph& graph_;
  const PreservedNodes preserved_;
  Graph::Uses uses_;
  std::size_t nodes_ = 0;  // those that uses_ knows
};

}  // namespace argosy
