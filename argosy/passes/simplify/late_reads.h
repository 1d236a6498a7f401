// LateReads: repeats a read of a reference variable for one user that runs after an update.
//
//   v ─► Reshape ─► Neg          v ─► Reshape
//   v ─► AssignAdd ┄┄► Neg  ──►  v ─► AssignAdd ┄┄► Reshape/again ─► Neg
//
// An Identity needs no copy: its user reads the variable. Branches and loops get the reference by RefSwitch and
// RefEnter.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

class LateReads {
 public:
  explicit LateReads(Graph& graph) : graph_(graph) {}

  // Makes an input, which is a read as of RefReads, give the variable's value at the time when the user runs. Returns
  // false if it stays a snapshot. `may_grow`: at run time it stays a snapshot if the number of elements has changed.
  Result<bool> make_late(const Graph::Use& use, bool may_grow);

 private:
  std::vector<Endpoint> views_of(Endpoint value) const;
  Result<Endpoint> reference(Endpoint value);
  Result<NodeId> add_view(NodeId view, Endpoint of, std::vector<NodeId> waits);
  Result<NodeId> add_read_again(const Graph::Use& use, Endpoint value, Endpoint variable);
  std::vector<NodeId> waits_of(const Graph::Use& use) const;

  Graph& graph_;
  std::unordered_map<std::int32_t, NodeId> twins_;  // by Switch or Enter of a read: the RefSwitch or RefEnter
};

}  // namespace argosy
