// FlowScopes: the nesting of branches, loop frames and iterations around each node, as a tree of scopes. A node's scope
// must be live for the node to be live.
//
//   root ─ branch p is true ─ frame "inner" ─ an iteration of it ─ its predicate is true
//
// A node is dead exactly when its scope, or one around it, is dead. So if node a is within the scope of node b, then a
// is dead whenever b is, and runs in the same iterations.
//
// Unusual branches, which TensorFlow does not build, and very deep ones get a separate scope. No other node is within
// it.
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
  // The scope of a node that reads, or waits for, all of these nodes.
  Scope of_waits(std::span<const NodeId> waits);
  // Is `inner` the scope `outer`, or one in it?
  bool within(Scope inner, Scope outer) const;
  // Sets the scope of a node that was replaced. Scopes of its readers stay.
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
