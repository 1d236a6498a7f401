#include "argosy/tf/graph/stand_ins.h"

#include "argosy/formats/proto/graph.pb.h"

namespace argosy::tf {

Status StandIns::resolve(const ImportInput& input, std::vector<Endpoint>& to) const {
  const ImportNode& entry = nodes_[input.node];
  if (entry.state == ImportState::kFailed) {
    to.push_back(stand_ins_.at(key(input)));
    return ok_status();
  }
  int first = 0;
  int count = static_cast<int>(graph_.node(entry.id).output_dtypes.size());
  if (!input.out.empty()) {
    ARGOSY_ASSIGN_OR_RETURN(const auto range,
                            outputs_of(graph_, entry.id, entry.source.def->op(), input.out, context_.functions));
    first = range.first;
    count = range.second;
  }
  if (input.index == ImportInput::kWholeArg) {
    for (int i = 0; i < count; ++i) to.push_back({entry.id, first + i});
    return ok_status();
  }
  if (input.index < 0 || input.index >= count) {
    return invalid_argument("Connecting to invalid output ", input.index, " of source node ",
                            graph_.node(entry.id).name, input.out.empty() ? "" : ":", input.out, " which has ", count,
                            " outputs.")
        .with_id("ARG-IMPORT-002");
  }
  to.push_back({entry.id, first + input.index});
  return ok_status();
}

DType StandIns::wanted_dtype(const ImportInput& wanted) const {
  for (const ImportNode& entry : nodes_.all()) {
    if (entry.source.def == nullptr) continue;
    int position = 0;  // among the data inputs
    for (const ImportInput& input : nodes_.inputs(entry)) {
      if (input.index == ImportInput::kControl) break;
      if (key(input) == key(wanted)) {
        const DType dtype = input_dtype(graph_.ops(), *entry.source.def, position);
        if (dtype != DType::kInvalid) return dtype;
      }
      ++position;
    }
  }
  return DType::kInvalid;
}

Result<NodeId> StandIns::add_missing(std::int32_t node, std::int32_t index, DType dtype, std::vector<NodeId> controls) {
  const Status& error = nodes_.status(node);
  const tensorflow::NodeDef& def = *nodes_[node].source.def;
  return graph_.add_node(
      {.name =
           graph_.unique_name(index == 0 ? def.name() : str_cat(def.name(), "/_", index < 0 ? "done" : str_cat(index))),
       .op = "_Missing",
       .controls = std::move(controls),
       .attrs = {{"dtype", dtype}, {"code", static_cast<std::int64_t>(error.code())}, {"message", error.message()}},
       .device = def.device()});
}

Result<Endpoint> StandIns::stand_in(std::int32_t node, std::int32_t index) {
  const ImportInput input{node, index};
  if (const auto found = stand_ins_.find(key(input)); found != stand_ins_.end()) return found->second;
  const DType dtype = wanted_dtype(input);
  if (dtype == DType::kInvalid) return nodes_.status(node);
  ARGOSY_ASSIGN_OR_RETURN(const NodeId id, add_missing(node, index, dtype, {}));
  const std::int32_t failed = nodes_[node].error;
  for (std::int32_t other = 0; other < nodes_.size(); ++other) {
    if (other != node && nodes_[other].state == ImportState::kFailed && nodes_[other].error == failed) {
      nodes_[other].state = ImportState::kNew;
    }
  }
  return stand_ins_.emplace(key(input), Endpoint{id, 0}).first->second;
}

bool StandIns::provided(const ImportInput& input, std::int32_t node, int position) {
  if (nodes_[input.node].state != ImportState::kFailed || stand_ins_.contains(key(input))) return true;
  if (!nodes_[input.node].absent) return false;
  DType dtype = DType::kBool;
  if (input.index != ImportInput::kControl) dtype = input_dtype(graph_.ops(), *nodes_[node].source.def, position);
  if (dtype == DType::kInvalid) dtype = wanted_dtype(input);
  return dtype != DType::kInvalid && stand_for(input, dtype).ok();
}

Status StandIns::provide(const ImportInput& input, DType dtype) {
  if (nodes_[input.node].state != ImportState::kFailed || stand_ins_.contains(key(input))) return ok_status();
  return nodes_[input.node].absent ? stand_for(input, dtype) : nodes_.status(input.node);
}

NodeId StandIns::ordered(std::int32_t node) const {
  if (nodes_[node].state != ImportState::kFailed) return nodes_[node].id;
  return stand_ins_.at(key({node, ImportInput::kControl})).node;
}

// Makes a stand-in that is live if the node's inputs are: it has control inputs from all of them. Each control input
// comes from an Identity of the value, because a Switch itself is always live. Recursion depth: the length of the chain
// of absent nodes.
Status StandIns::stand_for(const ImportInput& input, DType dtype) {
  if (dtype == DType::kInvalid) return nodes_.status(input.node);
  std::vector<NodeId> controls;
  for (const ImportInput& before : nodes_.inputs(input.node)) {
    if (nodes_[before.node].state != ImportState::kDone) {
      ARGOSY_RETURN_IF_ERROR(provide({before.node, ImportInput::kControl}, DType::kBool));
      controls.push_back(ordered(before.node));
    } else if (before.index == ImportInput::kControl) {
      controls.push_back(nodes_[before.node].id);
    } else {
      std::vector<Endpoint> values;
      ARGOSY_RETURN_IF_ERROR(resolve(before, values));
      for (const Endpoint value : values) {
        ARGOSY_ASSIGN_OR_RETURN(
            const NodeId id,
            graph_.add_node({.name = graph_.unique_name(nodes_[input.node].source.def->name() + "/_input"),
                             .op = "Identity",
                             .inputs = {value},
                             .attrs = {{"T", graph_.dtype(value)}}}));
        controls.push_back(id);
      }
    }
  }
  ARGOSY_ASSIGN_OR_RETURN(const NodeId id, add_missing(input.node, input.index, dtype, std::move(controls)));
  stand_ins_.emplace(key(input), Endpoint{id, 0});
  return ok_status();
}

}  // namespace argosy::tf
