// Stacks and arrays that live for one step, and lists. The placement of a handle, or of a list, is that of its elements.
// Internal to resolve/:
//
//   StackV2         ──► handle: S(0) ──► Push(x: S(0)) … Pop ──► x: S(0)
//   EmptyTensorList ──► list: S(0)   ──► PushBack(x: S(0)) ──► list: S(0) ──► PopBack ──► list: S(0), x: S(0)
//
// Lists are values. Those that are made of each other, or meet in one node, count as one container: a loop carries it.
// The first shard that is put in decides, for all that is put in and read. Where none is, or some user cannot take it,
// elements are replicated.
#pragma once

#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/sharding/placement.h"
#include "argosy/sharding/rules/rule_table.h"
#include "argosy/sharding/sizes/sizes.h"

namespace argosy {

class Containers {
 public:
  // Of containers whose every user has a rule that says what an element is.
  Containers(const Graph& graph, const Sizes& sizes, const RuleTable& rules);

  // The container behind a handle or list; -1: none.
  int behind(Endpoint e) const { return of_[index_(e)]; }
  bool makes(NodeId id) const { return makers_[static_cast<std::size_t>(id.index)] != 0; }
  // False: a shard may be put in yet.
  bool is_decided(int container) const {
    const Container& c = all_[static_cast<std::size_t>(container)];
    return c.whole || c.elements.is_shard();
  }
  const Placement& elements(int container) const { return all_[static_cast<std::size_t>(container)].elements; }

  // A node puts in what it has as `p`, be it a shard.
  void put(int container, const Placement& p);
  // Some user cannot take elements in shards.
  void replicate(int container);
  // True if elements have another placement since the last call.
  bool take_news();

 private:
  struct Container {
    Placement elements = {};
    bool whole = false;
  };
  // While they are found: of which container this one is a part, and whether all its users know what an element is.
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
