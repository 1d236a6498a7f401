// StandIns: makes "_Missing" nodes in place of nodes that cannot be converted, and resolves inputs to endpoints.
// Internal to argosy/tf. Not thread-safe.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "argosy/tf/graph/import_nodes.h"

namespace argosy::tf {

// A stand-in fails a step that executes it, with the error of its node. All three references outlive this object.
class StandIns {
 public:
  StandIns(Graph& graph, const BuildContext& context, ImportNodes& nodes)
      : graph_(graph), context_(context), nodes_(nodes) {}

  // Returns a value to feed in place of output `index` of a failed node. Its dtype is the one that its consumers need;
  // if they need none, returns the node's error. Nodes that failed with the same error become kNew again: with the
  // stand-in they may be convertible.
  Result<Endpoint> stand_in(std::int32_t node, std::int32_t index);
  // Makes sure that the value of `input`, or a stand-in for it, exists. Makes a stand-in of this dtype if the node is
  // absent (ImportNode::absent). Else returns the node's error.
  Status provide(const ImportInput& input, DType dtype);
  // Like provide() for data input number `position` of `node`; the dtype is the one that `node` needs. Returns success.
  bool provided(const ImportInput& input, std::int32_t node, int position);
  bool has(const ImportInput& input) const { return stand_ins_.contains(key(input)); }

  // Appends the endpoints that an input refers to. REQUIRES: its node is converted, or has a stand-in for the input.
  Status resolve(const ImportInput& input, std::vector<Endpoint>& to) const;
  // Returns the node of the graph that represents a control input from `node`. REQUIRES: the node is converted, or has
  // a stand-in for kControl.
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
