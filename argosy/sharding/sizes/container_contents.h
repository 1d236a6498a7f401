// ContainerContents: the shapes of the elements of stacks, TensorArrays and lists, and their values if these are
// integers. Known is what all elements of a container have in common. It is learned in rounds: a walk over the graph
// stores what is put in, the next walk reads it. Internal to sizes/.
//
//   walk 1: Push(x: [batch, 4])  ──► learn() ──►  walk 2: Pop: [batch, 4]
#pragma once

#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "argosy/op/definition/stored_element.h"
#include "argosy/sharding/sizes/shape_walk.h"

namespace argosy {

class ContainerContents {
 public:
  ContainerContents(const Graph& graph, const OutputIndex& index) : graph_(graph), index_(index) {}

  void begin();  // starts a walk
  // Adds an output that is a handle or list. `same`: its node passes its first input on. Refines the shape `elements`
  // by the last round.
  void add(NodeId id, Endpoint handle, bool same, PartialShape& elements);
  // Notes that `handle` refers to the container of the node's first input.
  void follow(NodeId id, Endpoint handle);
  // Stores the element that the node puts in, if it does.
  void store(NodeId id, const InferredShapes& known);
  // Sets the known integers of the element that the node takes out, if it does.
  void take(NodeId id, InferredShapes& known) const;
  // Ends a walk. True if elements differ from those of the last round: another walk is needed. After 8 rounds all
  // elements become unknown, so the rounds end.
  bool learn();

 private:
  struct Elements {
    PartialShape shape;
    std::optional<PartialInts> ints;
    bool operator==(const Elements&) const = default;
  };
  static Elements common(const Elements& a, const Elements& b);
  bool is_filled(const OpDef& op);
  void unite();
  void put(Endpoint container, const Elements& element);

  const Graph& graph_;
  const OutputIndex& index_;
  std::map<Endpoint, Endpoint> made_by_;            // by handle: its container's first handle
  std::set<Endpoint> gaps_;                         // containers that may have gaps, in any round
  std::map<Endpoint, Elements> contents_, stored_;  // by container: last round, this one
  std::unordered_map<const OpDef*, std::optional<StoredElement>> stores_;  // by op
  std::unordered_map<const OpDef*, bool> filled_;                          // by op
  int rounds_ = 0;
};

// Returns the sizes that are equal in both shapes; the others are unknown.
PartialShape common_sizes(const PartialShape& a, const PartialShape& b);

}  // namespace argosy
