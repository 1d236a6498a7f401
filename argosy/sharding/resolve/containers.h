// Stacks and arrays that live for one step. The placement of a handle is that of the container's elements. Internal to
// resolve/.
//
//   StackV2 ──► handle: S(0) ──► Push(x: S(0)) … Pop ──► x: S(0)
//
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

  // The container behind a handle; -1: none.
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
  const OutputIndex& index_;
  std::vector<int> of_;       // by output
  std::vector<char> makers_;  // by node
  std::vector<Container> all_;
  bool news_ = false;
};

}  // namespace argosy
