// ElementwiseGroups: the groups of nodes of a step that can become one elementwise op each. Internal to
// argosy/passes/fuse/fuse_elementwise.cc, whose header has the conditions.
//
// Groups grow against the direction of data: nodes come in reverse topological order, and one joins the group of one of
// its readers. A group never closes a cycle through nodes outside it, neither by edges nor by hidden waits
// (hidden_waits.h).
#pragma once

#include <vector>

#include "argosy/base/small_vector.h"
#include "argosy/passes/fuse/hidden_waits.h"
#include "argosy/passes/node_users.h"

namespace argosy {

class ElementwiseGroups {
 public:
  static constexpr std::size_t kMostSteps = 32, kMostInputs = 16, kMostOutputs = 4;
  using Members = SmallVector<NodeId, 4>;  // in reverse topological order
  using Inputs = SmallVector<Endpoint, kMostInputs>;
  using Outputs = SmallVector<NodeId, kMostOutputs>;

  explicit ElementwiseGroups(const StepGraph& step);

  // Puts the node into a group if possible. Call it once for each node, in reverse topological order.
  void add(NodeId id);

  const std::vector<Members>& all() const { return groups_; }
  const NodeUsers& users() const { return users_; }
  // Is the node in the group of this member? Nodes added to the graph later are in none.
  bool is_in_group(NodeId id, NodeId member) const { return group(id) == group(member); }

  // The values from outside that the members read, each once.
  Inputs inputs_of(const Members& members) const { return inputs_of(members, group(members.front())); }
  // The members whose values nodes outside read, or the step fetches.
  Outputs outputs_of(const Members& members) const { return outputs_of(members, group(members.front())); }
  // If `e` is the output of a node that only broadcasts a scalar: that scalar. Else `e`.
  Endpoint source(Endpoint e) const;

 private:
  int group(NodeId id) const {
    const auto i = static_cast<std::size_t>(id.index);
    return i < group_of_.size() ? group_of_[i] : -1;
  }
  bool is_ref(Endpoint e) const { return graph_.node(e.node).output_is_ref(e.index); }
  bool may_join(NodeId id) const;
  bool attrs_allow(NodeId id) const;
  bool join_a_reader(NodeId id);
  bool fits(NodeId id, int g);
  bool seen_outside(NodeId id, int g) const;
  bool reaches(NodeId id, int g);
  Inputs inputs_of(const Members& members, int g) const;
  Outputs outputs_of(const Members& members, int g) const;

  const Graph& graph_;
  const NodeUsers users_;
  const HiddenWaits hidden_;
  bool flow_ = false;  // the graph has control flow
  std::vector<Members> groups_;
  std::vector<int> group_of_;  // by node; -1: none
  std::vector<int> seen_;      // by node: the number of the last search that visited it
  int visit_ = 0;
};

}  // namespace argosy
