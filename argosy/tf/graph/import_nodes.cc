#include "argosy/tf/graph/import_nodes.h"

#include "argosy/formats/proto/graph.pb.h"

namespace argosy::tf {

std::int32_t ImportNodes::add(const NodeSource& source, std::span<const ImportInput> inputs) {
  const std::string_view op = source.def->op();
  nodes_.push_back({.source = source,
                    .first_input = inputs_.size(),
                    .num_inputs = static_cast<std::uint32_t>(inputs.size()),
                    .is_merge = op == "Merge" || op == "RefMerge",
                    .closes_loop = op == "NextIteration" || op == "RefNextIteration",
                    .is_switch = op == "Switch" || op == "RefSwitch" || op == "_SwitchN"});
  inputs_.insert(inputs_.end(), inputs.begin(), inputs.end());
  return size() - 1;
}

std::int32_t ImportNodes::add_converted(NodeId id) {
  nodes_.push_back({.first_input = inputs_.size(), .state = ImportState::kDone, .id = id});
  return size() - 1;
}

const Status& ImportNodes::status(std::int32_t node) const {
  static const Status kOk;
  return nodes_[node].state == ImportState::kFailed ? errors_[nodes_[node].error] : kOk;
}

void ImportNodes::fail_as(std::int32_t node, std::int32_t error) {
  nodes_[node].state = ImportState::kFailed;
  nodes_[node].error = error;
}

void ImportNodes::fail(std::int32_t node, Status error) {
  errors_.push_back(std::move(error).with_where(node_place(*nodes_[node].source.def)));
  fail_as(node, static_cast<std::int32_t>(errors_.size()) - 1);
}

}  // namespace argosy::tf
