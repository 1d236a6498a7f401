// Containers: the placement of the elements of stacks, TensorArrays and lists. It is also the placement of the handle,
// or of the list. Internal to resolve/:
//
//   StackV2         ──► handle: S(0) ──► Push(x: S(0)) … Pop ──► x: S(0)
//   EmptyTensorList ──► list: S(0)   ──► PushBack(x: S(0)) ──► list: S(0) ──► PopBack ──► list: S(0), x: S(0)
//
// Lists are values. Lists that are made of each other, or are inputs of one node, count as one container: a loop
// carries it. The first sharded element that is put in decides the placement of all elements. They are replicated if
// none is sharded, or if some user cannot take shards.
#pragma once

#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/sharding/placement.h"
#include "argosy/sharding/rules/rule_table.h"
#include "argosy/sharding/sizes/sizes.h"

namespace argosy {

class Containers {
 public:
  // Finds the containers of the graph. Stacks and arrays count only if the rule of every user says what an element is.
  Containers(const Graph& graph, const Sizes& sizes, const RuleTable& rules);

  // Returns the container behind a handle or list; -1: none.
  int behind(Endpoint e) const { return of_[index_(e)]; }
  // True if the node makes a stack or array.
  bool makes(NodeId id) const { return makers_[static_cast<std::size_t>(id.index)] != 0; }
  // True if the placement of the elements is fixed. False: a shard may still be put in.
  bool is_decided(int container) const {
    const Container& c = all_[static_cast<std::size_t>(container)];
    return c.whole || c.elements.is_shard();
  }
  const Placement& elements(int container) const { return all_[static_cast<std::size_t>(container)].elements; }

  // Notes that a node puts in an element with placement `p`. The first shard fixes the placement.
  void put(int container, const Placement& p);
  // Fixes the elements as replicated: some user cannot take shards.
  void replicate(int container);
  // True if the elements of some container have changed their placement since the last call.
  bool take_news();

 private:
  struct Container {
    Placement elements = {};
    bool whole = false;
  };
  // A disjoint-set forest while containers are found: `part_of` is the parent, `known` says that all users know
  // elements.
  struct Found {
    std::vector<int> part_of;
    std::vector<char> known, list;
    int of(int container) const;
    void unite(int a, int b);
  };
  // Numbers the containers of a node's outputs, and unites those of its inputs.
  void visit(const Graph& graph, const Sizes& sizes, const RuleTable& rules, NodeId id, Found& found);

  const OutputIndex& index_;
  std::vector<int> of_;       // by output
  std::vector<char> makers_;  // by node
  std::vector<Container> all_;
  bool news_ = false;
};

}  // namespace argosy
