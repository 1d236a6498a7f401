// HiddenWaits: dependencies between nodes of a step that are not edges of the graph.
//
//   x ─► Tanh ─► Enqueue(q)          Dequeue(q) ─► Mul          Mul waits for Tanh: the queue may be empty
//
// A pass that fuses nodes must respect them. Otherwise a node could wait for itself, through a queue or a collective,
// and the step would deadlock.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

class HiddenWaits {
 public:
  // Reads the graph; later changes are not seen.
  explicit HiddenWaits(const Graph& graph);

  // False: there are no hidden dependencies.
  bool any() const { return any_; }
  // Returns the nodes that may wait until this one has run; it may be among them. Valid while this lives. They are
  // * if it may release a blocking node (of a queue, a staging area), in this step or through another: all blocking
  //   nodes;
  // * if it is a member of a collective in the user's graph: all members of its group.
  std::span<const NodeId> behind(NodeId id) const;

 private:
  void find_groups(const Graph& graph);

  bool any_ = false;
  std::vector<char> releases_;    // by node: it may release a blocking node; empty: none may
  std::vector<NodeId> blocking_;  // nodes that wait for an action of another node
  std::map<NodeId, int> group_of_;
  std::vector<std::vector<NodeId>> groups_;
};

}  // namespace argosy
