// Values of the whole batch beside those that shards go on using as their own: what lies between cut values and a value
// is computed once more, from these. Internal to strategy/.
#pragma once

#include <map>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/strategy/sharding/update_collectives.h"

namespace argosy {

// Adds nodes and cuts. Both are borrowed.
class WholeCopies {
 public:
  WholeCopies(Graph& graph, std::vector<Cut>& cuts) : graph_(graph), cuts_(cuts) {}

  // The copy of e; e itself where there is none.
  Endpoint of(Endpoint e) const;
  bool has(Endpoint e) const { return copies_.contains(e); }
  // A node to cut at in place of e, unless e is cut already.
  Status mark(Endpoint e, Combine how);
  // The node, from copies of its inputs as far as there are some.
  Status compute_again(NodeId id);

 private:
  Graph& graph_;
  std::vector<Cut>& cuts_;
  std::map<Endpoint, Endpoint> copies_;  // by what shards have
};

}  // namespace argosy
