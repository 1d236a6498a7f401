// The users of nodes of a step. A pass asks before it fuses a node into another one, or bypasses it.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "argosy/op/definition/opcode.h"
#include "argosy/passes/simplify/prune.h"

namespace argosy {

// The nodes that a step fetches or targets, whose values passes must preserve. A snapshot: nodes added later are not in
// it.
class PreservedNodes {
 public:
  explicit PreservedNodes(const StepGraph& step);

  // Fetched, by any output or as the node itself, or a target.
  bool contains(NodeId id) const { return flags(id) != 0; }
  bool is_fetched(NodeId id) const { return (flags(id) & (kFetched | kControl)) != 0; }
  bool is_target(NodeId id) const { return (flags(id) & kTarget) != 0; }
  // A target, or fetched as the node itself (Value::kControl): it must run even if its values are known.
  bool must_run(NodeId id) const { return (flags(id) & (kControl | kTarget)) != 0; }

 private:
  enum Flag : char { kFetched = 1, kControl = 2, kTarget = 4 };
  int flags(NodeId id) const {
    const auto i = static_cast<std::size_t>(id.index);
    return i < flags_.size() ? flags_[i] : 0;
  }
  std::vector<char> flags_;  // by node; nodes beyond its end have none
};

// The users of every node, and the preserved ones. The graph must outlive it. Edges that change later are not seen, and
// nodes added later have no users here, until refresh().
class NodeUsers {
 public:
  explicit NodeUsers(const StepGraph& step);

  // Reads the edges again, but not the preserved nodes.
  void refresh();

  bool is_preserved(NodeId id) const { return preserved_.contains(id); }
  // The uses of a node. REQUIRES: the node existed when the edges were read.
  std::span<const Graph::Use> operator[](NodeId id) const { return uses_[id.index]; }

  // The single user of `id`: it reads it by one data edge, and requests the same device. nullopt: `id` is preserved,
  // has other users, or was added later.
  std::optional<NodeId> single_user(NodeId id) const;

  // The producer of input `k` of `reader`, if it may be fused into `reader`: it has opcode `op`, no control inputs, and
  // `reader` as its single user. Else nullopt.
  std::optional<NodeId> absorbable_input(NodeId reader, int k, Opcode op) const;

 private:
  const Graph& graph_;
  const PreservedNodes preserved_;
  Graph::Uses uses_;
  std::size_t nodes_ = 0;  // number of nodes in uses_
};

}  // namespace argosy
