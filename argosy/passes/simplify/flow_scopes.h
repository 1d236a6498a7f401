// FlowScopes: what of the control flow must be live for a node to be live, as a tree.
//
//   root ─ branch p is true ─ frame "inner" ─ an iteration of it ─ its predicate is true
//
// A dead node is dead with its scope or one around it. A node is dead whenever its scope or one around it is. So a node
// within another one's scope is dead wherever that other one is, and runs in its iterations.
//
// Branches that no graph of TensorFlow has, or very deep ones, get scopes of their own: nothing else is then within.
#pragma once

#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

class FlowScopes {
 public:
  using Scope = std::int32_t;
  static constexpr Scope kRoot = 0;  // never dead

  // `order`: topological. The graph must outlive this. Nodes added later are at the root.
  FlowScopes(const Graph& graph, const std::vector<NodeId>& order);

  Scope of(NodeId node) const {
    return static_cast<std::size_t>(node.index) < scopes_.size() ? scopes_[static_cast<std::size_t>(node.index)]
                                                                 : kRoot;
  }
  Scope of(Endpoint value) const;  // of a Switch: the branch's
  // Of what reads or waits for all of these.
  Scope of_waits(std::span<const NodeId> waits);
  // Is `inner` the scope `outer`, or one in it?
  bool within(Scope inner, Scope outer) const;
  // The node was replaced; those that read it are as dead as before.
  void move(NodeId node, Scope to) {
    if (!scopes_.empty()) scopes_[static_cast<std::size_t>(node.index)] = to;
  }

 private:
  // What a scope adds to the one around it: the numbers say which.
  enum class Kind : char { kRoot, kBranch, kFrame, kIteration, kBoth, kNode };
  using Key = std::tuple<Scope, Kind, std::int64_t, std::int64_t>;
  struct Entry {
    Key key;
    int depth = 0;
  };

  Scope inner(Scope around, Kind kind, std::int64_t first, std::int64_t second, NodeId node);
  Scope both(Scope a, Scope b, NodeId node);
  Scope of_inputs(NodeId id);
  Scope of_merge(NodeId id);
  Scope of_exit(NodeId id);
  Scope around(Scope scope) const { return std::get<0>(entries_[static_cast<std::size_t>(scope)].key); }
  Kind kind(Scope scope) const { return std::get<1>(entries_[static_cast<std::size_t>(scope)].key); }

  const Graph& graph_;
  std::vector<Scope> scopes_;  // by node; empty without control flow
  std::vector<Entry> entries_;
  std::map<Key, Scope> known_;
  std::map<std::string, std::int64_t> frames_;
  std::map<Endpoint, Scope> branches_;
};

}  // namespace argosy
