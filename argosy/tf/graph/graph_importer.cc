#include "argosy/tf/graph/graph_importer.h"

#include <algorithm>

#include "argosy/formats/proto/graph.pb.h"

namespace argosy::tf {

using tensorflow::NodeDef;

std::int32_t GraphImporter::add(const NodeSource& source, std::span<const Input> inputs) {
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

std::int32_t GraphImporter::add_converted(NodeId id) {
  nodes_.push_back({.first_input = inputs_.size(), .state = State::kDone, .id = id});
  return size() - 1;
}

const Status& GraphImporter::status(std::int32_t node) const {
  static const Status kOk;
  return nodes_[node].state == State::kFailed ? errors_[nodes_[node].error] : kOk;
}

void GraphImporter::fail_as(std::int32_t node, std::int32_t error) {
  nodes_[node].state = State::kFailed;
  nodes_[node].error = error;
}

void GraphImporter::fail(std::int32_t node, Status error) {
  errors_.push_back(std::move(error).with_where(node_place(*nodes_[node].source.def)));
  fail_as(node, static_cast<std::int32_t>(errors_.size()) - 1);
}

void GraphImporter::convert(std::span<const std::int32_t> roots) {
  for (const std::int32_t root : roots) {
    const std::size_t open = loops_.size();
    convert_one(root);
    // What closes the loops met, and the loops met on the way to that.
    for (std::size_t i = open; i < loops_.size(); ++i) convert_one(loops_[i].next);
    close_loops(open);
    loops_.resize(open);
  }
}

void GraphImporter::convert_one(std::int32_t root) {
  if (nodes_[root].state != State::kNew) return;
  const auto open = [&](std::int32_t node) {
    nodes_[node].state = State::kOpen;
    stack_.emplace_back(node, 0);
  };
  open(root);
  while (!stack_.empty()) {
    const std::int32_t node = stack_.back().first;
    const Entry& entry = nodes_[node];
    std::int32_t next = -1;
    bool cycle = false;
    while (next < 0 && !cycle && stack_.back().second < entry.num_inputs) {
      const Input& input = inputs_[entry.first_input + stack_.back().second++];
      if (is_back_edge(entry, input)) continue;
      if (nodes_[input.node].state == State::kNew) next = input.node;
      cycle = nodes_[input.node].state == State::kOpen;
    }
    if (next >= 0) {
      open(next);
      continue;
    }
    stack_.pop_back();
    if (cycle) {
      fail(node, invalid_argument("the graph has a cycle through it").with_id("ARG-GRAPH-004"));
    } else {
      build(node);
    }
  }
}

void GraphImporter::build(std::int32_t node) {
  Entry& entry = nodes_[node];
  entry.chosen = context_.chosen || entry.is_switch;
  for (const Input& input : inputs(node)) entry.chosen = entry.chosen || nodes_[input.node].chosen;
  if (entry.chosen) {
    if (Status known = check_op(graph_.ops(), *entry.source.def, context_); !known.ok()) {
      entry.absent = true;
      return fail(node, std::move(known));
    }
  }
  int position = 0;
  for (const Input& input : inputs(node)) {
    const bool there = is_back_edge(entry, input) || provided(input, node, position);
    if (!there) return fail_as(node, nodes_[input.node].error);
    if (input.index != Input::kControl) ++position;
  }
  std::vector<OpenLoop> loops;
  auto id = try_build(node, loops);
  if (!id.ok()) return fail(node, std::move(id).status());
  nodes_[node].id = *id;
  nodes_[node].state = State::kDone;
  loops_.insert(loops_.end(), loops.begin(), loops.end());
  done_.push_back(node);
  std::vector<std::string> functions;
  add_function_refs(graph_.node(*id).attrs, functions);
  for (std::string& function : functions) callers_.emplace_back(node, std::move(function));
}

Result<NodeId> GraphImporter::try_build(std::int32_t node, std::vector<OpenLoop>& loops) {
  const Entry& entry = nodes_[node];
  std::vector<Endpoint> from;
  std::vector<NodeId> controls;
  from.reserve(entry.num_inputs);
  for (const Input& input : inputs(node)) {
    if (is_back_edge(entry, input)) {
      loops.push_back({node, input.node, from.size() + loops.size(), input.index});
    } else if (input.index == Input::kControl) {
      controls.push_back(ordered(input.node));
    } else {
      ARGOSY_RETURN_IF_ERROR(resolve(input, from));
    }
  }
  BuildContext context = context_;
  context.chosen = entry.chosen;
  return add_node_def(graph_, entry.source, std::move(from), std::move(controls), static_cast<int>(loops.size()),
                      context);
}

Status GraphImporter::resolve(const Input& input, std::vector<Endpoint>& to) const {
  const Entry& entry = nodes_[input.node];
  if (entry.state == State::kFailed) {
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
  if (input.index == Input::kWholeArg) {
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

DType GraphImporter::wanted_dtype(const Input& wanted) const {
  for (const Entry& entry : nodes_) {
    if (entry.source.def == nullptr) continue;
    int position = 0;  // among the data inputs
    for (std::uint32_t i = 0; i < entry.num_inputs; ++i) {
      const Input& input = inputs_[entry.first_input + i];
      if (input.index == Input::kControl) break;
      if (key(input) == key(wanted)) {
        const DType dtype = input_dtype(graph_.ops(), *entry.source.def, position);
        if (dtype != DType::kInvalid) return dtype;
      }
      ++position;
    }
  }
  return DType::kInvalid;
}

// --- what stands for nodes that could not be converted ---------------------------------------------------------------

Result<NodeId> GraphImporter::add_missing(std::int32_t node, std::int32_t index, DType dtype,
                                          std::vector<NodeId> controls) {
  const Status& error = status(node);
  const NodeDef& def = *nodes_[node].source.def;
  return graph_.add_node(
      {.name =
           graph_.unique_name(index == 0 ? def.name() : str_cat(def.name(), "/_", index < 0 ? "done" : str_cat(index))),
       .op = "_Missing",
       .controls = std::move(controls),
       .attrs = {{"dtype", dtype}, {"code", static_cast<std::int64_t>(error.code())}, {"message", error.message()}},
       .device = def.device()});
}

Result<Endpoint> GraphImporter::stand_in(std::int32_t node, std::int32_t index) {
  const Input input{node, index};
  if (const auto found = stand_ins_.find(key(input)); found != stand_ins_.end()) return found->second;
  const DType dtype = wanted_dtype(input);
  if (dtype == DType::kInvalid) return status(node);
  ARGOSY_ASSIGN_OR_RETURN(const NodeId id, add_missing(node, index, dtype, {}));
  const std::int32_t failed = nodes_[node].error;
  for (std::int32_t other = 0; other < size(); ++other) {
    if (other != node && nodes_[other].state == State::kFailed && nodes_[other].error == failed) {
      nodes_[other].state = State::kNew;
    }
  }
  return stand_ins_.emplace(key(input), Endpoint{id, 0}).first->second;
}

bool GraphImporter::provided(const Input& input, std::int32_t node, int position) {
  if (nodes_[input.node].state != State::kFailed || stand_ins_.contains(key(input))) return true;
  if (!nodes_[input.node].absent) return false;
  DType dtype = DType::kBool;
  if (input.index != Input::kControl) dtype = input_dtype(graph_.ops(), *nodes_[node].source.def, position);
  if (dtype == DType::kInvalid) dtype = wanted_dtype(input);
  return dtype != DType::kInvalid && stand_for(input, dtype).ok();
}

Status GraphImporter::provide(const Input& input, DType dtype) {
  if (nodes_[input.node].state != State::kFailed || stand_ins_.contains(key(input))) return ok_status();
  return nodes_[input.node].absent ? stand_for(input, dtype) : status(input.node);
}

NodeId GraphImporter::ordered(std::int32_t node) const {
  if (nodes_[node].state != State::kFailed) return nodes_[node].id;
  return stand_ins_.at(key({node, Input::kControl})).node;
}

// Live when the node's inputs are: behind all that it takes, values by way of an Identity, since a Switch itself is
// always live. The stack of calls is as deep as absent nodes follow each other.
Status GraphImporter::stand_for(const Input& input, DType dtype) {
  if (dtype == DType::kInvalid) return status(input.node);
  std::vector<NodeId> controls;
  for (const Input& before : inputs(input.node)) {
    if (nodes_[before.node].state != State::kDone) {
      ARGOSY_RETURN_IF_ERROR(provide({before.node, Input::kControl}, DType::kBool));
      controls.push_back(ordered(before.node));
    } else if (before.index == Input::kControl) {
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

void GraphImporter::close_loops(std::size_t first) {
  bool failed = false;
  for (std::size_t i = first; i < loops_.size();) {
    std::size_t end = i;
    while (end < loops_.size() && loops_[end].merge == loops_[i].merge) ++end;
    if (nodes_[loops_[i].merge].state == State::kDone) {
      Status closed = close(loops_[i].merge, std::span(loops_).subspan(i, end - i));
      if (!closed.ok()) {
        failed = true;
        fail(loops_[i].merge, std::move(closed));
      }
    }
    i = end;
  }
  if (failed) spread_failures();
}

Status GraphImporter::close(std::int32_t merge, std::span<const OpenLoop> loops) {
  const NodeId id = nodes_[merge].id;
  const DType wanted = graph_.node(id).output_dtypes[0];
  std::vector<Endpoint> all = graph_.node(id).inputs;
  for (const OpenLoop& loop : loops) {
    const Entry& next = nodes_[loop.next];
    if (next.state != State::kDone) return status(loop.next);
    std::vector<Endpoint> back;
    ARGOSY_RETURN_IF_ERROR(resolve({loop.next, std::max(loop.index, 0)}, back));
    if (graph_.dtype(back[0]) != wanted) {
      return invalid_argument("the loop brings back ", dtype_name(graph_.dtype(back[0])), ", not ", dtype_name(wanted))
          .with_id("ARG-DTYPE-002");
    }
    all.insert(all.begin() + static_cast<std::ptrdiff_t>(loop.position), back[0]);
    graph_.add_input(id, back[0]);
  }
  for (std::size_t i = 0; i < all.size(); ++i) graph_.set_input(id, static_cast<int>(i), all[i]);
  return ok_status();
}

void GraphImporter::fail_callers(const std::vector<std::string>& functions) {
  bool failed = false;
  for (const auto& [node, function] : callers_) {
    if (nodes_[node].state != State::kDone) continue;
    if (std::find(functions.begin(), functions.end(), function) == functions.end()) continue;
    fail(node, in_function(function, context_.functions.status(function)));
    failed = true;
  }
  if (failed) spread_failures();
}

// Nodes that were converted although something that they need turned out to be wrong later.
void GraphImporter::spread_failures() {
  for (bool more = true; more;) {
    more = false;
    for (const std::int32_t node : done_) {
      if (nodes_[node].state != State::kDone) continue;
      for (const Input& input : inputs(node)) {
        if (nodes_[input.node].state != State::kFailed || stand_ins_.contains(key(input))) continue;
        fail_as(node, nodes_[input.node].error);
        more = true;
        break;
      }
    }
  }
}

}  // namespace argosy::tf
