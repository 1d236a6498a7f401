// StandIns: "_Missing" nodes in place of nodes that cannot be converted, and what an input means with them.
// Internal to argosy/tf. Not thread-safe.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "argosy/tf/graph/import_nodes.h"

namespace argosy::tf {

// A stand-in fails a step that reaches it with the error of its node. All three references outlive it.
class StandIns {
 public:
  StandIns(Graph& graph, const BuildContext& context, ImportNodes& nodes)
      : graph_(graph), context_(context), nodes_(nodes) {}

  // A value to feed in place of output `index` of a node that failed. Nodes that failed with the same error become new:
  // they can be converted with it. Its dtype is the one that its consumers ask for; the node's error if none does.
  Result<Endpoint> stand_in(std::int32_t node, std::int32_t index);
  // OK when the value of `input` exists, or a stand-in of this dtype does: one is made if the node's op does not exist
  // and a step may not reach it. Else the node's error.
  Status provide(const ImportInput& input, DType dtype);
  // Whether input number `position` of `node` (of its data inputs) exists, or has a stand-in.
  bool provided(const ImportInput& input, std::int32_t node, int position);
  bool has(const ImportInput& input) const { return stand_ins_.contains(key(input)); }

  // Appends the endpoints that an input means. REQUIRES: its node is converted, or has a stand-in for it.
  Status resolve(const ImportInput& input, std::vector<Endpoint>& to) const;
  // The node of the graph to order after. REQUIRES: the node is converted, or has a stand-in for kControl.
  NodeId ordered(std::int32_t node) const;

 private:
  using Key = std::tuple<std::int32_t, std::int32_t, std::string>;  // as ImportInput
  static Key key(const ImportInput& input) { return {input.node, input.index, std::string(input.out)}; }

  Result<NodeId> add_missing(std::int32_t node, std::int32_t index, DType dtype, std::vector<NodeId> controls);
  Status stand_for(const ImportInput& input, DType dtype);
  DType wanted_dtype(const ImportInput& wanted) const;

  Graph& graph_;
  const BuildContext& context_;
  ImportNodes& nodes_;
  std::map<Key, Endpoint> stand_ins_;
};

}  // namespace argosy::tf
