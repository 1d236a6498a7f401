// A broadcast down a tree, as TensorFlow's CPU tasks do it: first one member of each task, then the members within
// each.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "argosy/base/status.h"
#include "argosy/comm/keyed/piece_exchange.h"
#include "argosy/tensor/tensor.h"

namespace argosy {

// One tree of a broadcast. Places are positions in `member`.
struct BroadcastTree {
  std::vector<int> member;
  int source = 0;  // the place of the member that has the value
  int place = -1;  // this member's; -1: it is not in this tree

  int parent() const;                 // -1: this member is the source
  std::vector<int> children() const;  // the places that it sends to
};

// Returns the tree between tasks, if there are several, then one tree for each task.
std::vector<BroadcastTree> broadcast_trees(const KeyedGroup& group, int source);

// Joins the broadcast and returns. `values`: the source's values, or the memory that receives them. `key` as
// in RingCall, `done` as in start_ring_reduce().
void start_tree_broadcast(const KeyedGroup& group, int source, const std::string& key, const Tensor& values,
                          std::shared_ptr<PieceExchange> exchange, std::function<void(Status)> done);

}  // namespace argosy
