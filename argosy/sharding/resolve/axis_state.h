// AxisState: what resolve() has decided on one mesh axis so far. forward.h, propagate.h and combine.h change it.
// Internal to resolve/.
#pragma once

#include <string>
#include <vector>

#include "argosy/sharding/mesh.h"
#include "argosy/sharding/resolve/containers.h"
#include "argosy/sharding/resolve/resolve.h"

namespace argosy {

// Why a partial value is combined.
struct Combined {
  std::string why = {};  // empty: it is not combined
  bool yes() const { return !why.empty(); }
};

struct AxisState {
  AxisState(const Graph& g, const Sizes& s, const RuleTable& r, const Mesh& m, int a, const ResolveRequest& q);

  // --- asked for
  const Graph& graph;
  const Sizes& sizes;
  const RuleTable& rules;
  const MeshAxis& axis;
  const ResolveRequest& request;
  MeshAxis priced;                       // `axis` for costs: turns are priced as devices, one shard as two
  std::vector<std::size_t> first_input;  // by node: the position of its first input in an array of all inputs
  std::vector<const Seed*> seed;         // by output; null: none
  std::vector<char> given;               // by node: seeds give the placement of its outputs; its rule is not used
  std::vector<char> is_random;           // by node: random. Devices would compute different values, so one computes it
  std::vector<double> bytes;             // by output, times 8 for each loop around it
  Graph::Uses uses;
  Containers containers;

  // --- decided
  std::vector<NodeSharding> sharding;  // by node
  std::vector<Placement> need;         // by input: the placement that the node's sharding needs
  std::vector<Placement> made;         // by output: the placement that the node's sharding gives
  std::vector<Placement> base;         // by output: where users' reshards start: the seed, R if combined, or as made
  std::vector<Placement> wish;         // by output: the shard that all users need, an S; R: none
  std::vector<char> no_wish;           // by node: a wish for it was withdrawn, so it gets no other
  std::vector<Combined> combined;      // by output
  std::vector<char> whole;             // by node: it must be computed whole; else the fixpoint iteration may not end
  std::vector<Placement> elsewhere;    // by output: P on a mesh axis that was decided before; R: none

  std::size_t at(Endpoint e) const { return sizes.index()(e); }
  std::size_t at(Graph::Use u) const {
    return first_input[static_cast<std::size_t>(u.node.index)] + static_cast<std::size_t>(u.input);
  }
  bool keeps_local(NodeId id) const { return is_set(request.local.of, id); }
  bool takes_own(NodeId id) const { return is_set(request.local.gradients, id); }
  std::size_t inputs() const { return first_input.back(); }
  double all_reduce(Endpoint e) const;  // bytes, weighed as `bytes`

 private:
  static bool is_set(const std::vector<char>& of, NodeId id) {
    return !of.empty() && of[static_cast<std::size_t>(id.index)] != 0;
  }
};

// True for resource handles and variants. Such a value refers to state, and cannot be sent to another device.
bool holds_state(const Graph& graph, Endpoint e);
// True if the node takes the reference itself, not the variable's value.
bool takes_reference(const Graph& graph, const Node& n, int input);

}  // namespace argosy
