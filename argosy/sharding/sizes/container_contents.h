// What containers (stacks, arrays, lists) hold: the sizes that all elements have in common, and of integers what is known of
// them. Learned in rounds: a walk over the graph stores what is put in, the next walk reads it. Internal to sizes/.
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

  void begin();  // a walk
  // An output that is a handle or list. `same`: its node gives what it gets. Refines `elements` by what is known.
  void add(NodeId id, Endpoint handle, bool same, PartialShape& elements);
  // The container behind it is the one behind the node's first input.
  void follow(NodeId id, Endpoint handle);
  // What the node puts in.
  void store(NodeId id, const InferredShapes& known);
  // Integers that the node takes out.
  void take(NodeId id, InferredShapes& known) const;
  // True if containers hold other elements than they were taken to. After some rounds they hold what is not known.
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
  std::map<Endpoint, Endpoint> made_by_;                                   // by handle: that of the container's maker
  std::set<Endpoint> gaps_;                                                // containers that may have gaps, in any round
  std::map<Endpoint, Elements> contents_, stored_;                         // by container: last round, this one
  std::unordered_map<const OpDef*, std::optional<StoredElement>> stores_;  // by op
  std::unordered_map<const OpDef*, bool> filled_;                          // by op
  int rounds_ = 0;
};

// Sizes that both have; the others are unknown.
PartialShape common_sizes(const PartialShape& a, const PartialShape& b);

}  // namespace argosy
