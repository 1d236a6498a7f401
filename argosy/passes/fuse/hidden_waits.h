// HiddenWaits: which nodes of a step may wait for others, though no edge of the graph says so.
//
//   x ─► Tanh ─► Enqueue(q)          Dequeue(q) ─► Mul          Mul waits for Tanh: the queue may be empty
//
// A pass that makes one node of several asks: what needed the first must not wait for the second, if the second may wait
// for it. Neither would ever run.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

class HiddenWaits {
 public:
  // Looks at the graph as it is now.
  explicit HiddenWaits(const Graph& graph);

  // False: the edges say all.
  bool any() const { return any_; }
  // Nodes that may wait until this one has run, itself perhaps among them. Valid while this lives. They are
  //   all that block (queues, staging areas), where it may release one of them, in this step or through another one;
  //   all members of its group, where it is a member of a collective that the user's graph has.
  std::span<const NodeId> behind(NodeId id) const;

 private:
  void find_groups(const Graph& graph);

  bool any_ = false;
  std::vector<char> releases_;    // by node; empty: none does
  std::vector<NodeId> blocking_;  // what waits for something that another node does
  std::map<NodeId, int> group_of_;
  std::vector<std::vector<NodeId>> groups_;
};

}  // namespace argosy
