#include "argosy/strategy/tasks/task_cutter.h"

#include <algorithm>
#include <queue>
#include <set>

#include "argosy/base/str.h"
#include "argosy/ops/collective/net_attr.h"
#include "argosy/ops/collective/task_values.h"

namespace argosy {

namespace {

constexpr int kEveryTask = -1;

// True for nodes that other nodes only wait for (NoOp). They compute nothing, so every task has its own.
bool only_waits(const Node& n) { return n.op->input_args.empty() && n.op->output_args.empty() && !n.op->stateful; }

}  // namespace

// Nested device scopes leave several constraints on a node. asked_device() merges them.
int TaskCutter::device_of(const Node& n) const {
  if (n.device.empty()) return -1;
  const DeviceName asked = asked_device(n.device);
  const auto named = std::ranges::find_if(names_, [&](const DeviceName& name) { return name.matches(asked); });
  return named == names_.end() ? -1 : static_cast<int>(named - names_.begin());
}

// The owner follows from the node's device, else from its inputs. A node with effects and no owner belongs to task 0.
int TaskCutter::owner_of(NodeId id) const {
  const Node& n = graph_.node(id);
  if (only_waits(n) || std::find(fed_.begin(), fed_.end(), id) != fed_.end()) return kEveryTask;
  if (const int named = device_of(n); named >= 0) return devices_.task[static_cast<std::size_t>(named)];
  // The owner of the variable that it changes.
  for (const Endpoint e : n.inputs) {
    const Node& from = graph_.node(e.node);
    const bool handle = graph_.dtype(e) == DType::kResource || from.output_is_ref(e.index);
    if (has_effect(*n.op) && handle && owner(e.node) != kEveryTask) return owner(e.node);
  }
  std::set<int> makers;
  for (const Endpoint e : n.inputs) {
    if (graph_.node(e.node).op->closes_loop) continue;
    if (owner(e.node) != kEveryTask) makers.insert(owner(e.node));
  }
  if (makers.size() == 1) return *makers.begin();
  return has_effect(*n.op) ? 0 : kEveryTask;
}

Status TaskCutter::find_owners() {
  owners_.assign(static_cast<std::size_t>(graph_.size()), kEveryTask);
  in_flow_.assign(owners_.size(), 0);
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<NodeId> order, graph_.topological_order());
  for (const NodeId id : order) {
    const Node& n = graph_.node(id);
    owners_[static_cast<std::size_t>(id.index)] = owner_of(id);
    char& flow = in_flow_[static_cast<std::size_t>(id.index)];
    for (const Endpoint e : n.inputs) flow |= in_flow_[static_cast<std::size_t>(e.node.index)];
    if (n.op->flow == Flow::kEnter || n.op->flow == Flow::kSwitch) flow = 1;
    // Of a conditional, or where a loop is over: its value is one of the step again.
    if (n.op->flow == Flow::kExit) flow = 0;
    if (n.op->flow == Flow::kMerge && std::none_of(n.inputs.begin(), n.inputs.end(), [&](Endpoint e) {
          return graph_.node(e.node).op->closes_loop || graph_.node(e.node).op->flow == Flow::kEnter;
        })) {
      flow = 0;
    }
  }
  return ok_status();
}

std::string TaskCutter::spanning_group(const Node& n) const {
  if (!n.op->collective || n.attrs.get_or<std::int64_t>("size", 1) < 2) return "";
  return n.attrs.get_or<std::string>("group", "");
}

Status TaskCutter::check_travels(Endpoint e, bool in_flow) const {
  const Node& n = graph_.node(e.node);
  const auto refuse = [&](std::string_view why) {
    return unimplemented("'", n.name, "' (", n.op->name, ") is computed on task ", owner(e.node),
                         " and read by others, but ", why)
        .with_id("ARG-CLUSTER-061")
        .with_hint("train on one host, or change the model so that each device computes it");
  };
  if (n.output_is_ref(e.index)) return refuse("it is a variable itself, not a value");
  if (!is_plain(graph_.dtype(e))) return refuse(str_cat("values of ", dtype_name(graph_.dtype(e)), " do not travel"));
  if (in_flow || in_flow_[static_cast<std::size_t>(e.node.index)]) return refuse("it belongs to a loop or a branch");
  return ok_status();
}

Status TaskCutter::exchange(const std::vector<Endpoint>& values, bool in_flow) {
  Exchange exchange{.number = next_number_};
  for (const Endpoint e : values) {
    if (owner(e.node) == kEveryTask || exchange_of_.contains(e)) continue;
    ARGOSY_RETURN_IF_ERROR(check_travels(e, in_flow));
    exchange_of_[e] = static_cast<int>(exchanges_.size());
    exchange.values.push_back(e);
  }
  if (exchange.values.empty()) return ok_status();
  std::stable_sort(exchange.values.begin(), exchange.values.end(),
                   [&](Endpoint a, Endpoint b) { return owner(a.node) < owner(b.node); });
  ++next_number_;
  exchanges_.push_back(std::move(exchange));
  return ok_status();
}

// Visits the nodes in topological order, as every task would. A collective gets its number when all its ranks are
// ready.
Status TaskCutter::number_collectives(const std::vector<Endpoint>& fetched) {
  const auto n = static_cast<std::size_t>(graph_.size());
  std::vector<int> waits(n, 0);
  std::vector<std::vector<std::int32_t>> readers(n);
  std::map<std::string, std::vector<NodeId>> ready_members;
  std::map<std::string, std::size_t> members;
  const auto wait = [&](std::int32_t reader, NodeId before) {
    if (graph_.node(before).op->closes_loop) return;
    readers[static_cast<std::size_t>(before.index)].push_back(reader);
    ++waits[static_cast<std::size_t>(reader)];
  };
  for (std::int32_t i = 0; i < graph_.size(); ++i) {
    const Node& node = graph_.node(NodeId{i});
    for (const Endpoint e : node.inputs) wait(i, e.node);
    for (const NodeId c : node.controls) wait(i, c);
    const std::string group = spanning_group(node);
    if (group.empty()) continue;
    ++members[group];
    part_.groups_[group].push_back(NodeId{i});
  }
  std::priority_queue<std::int32_t, std::vector<std::int32_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < n; ++i) {
    if (waits[i] == 0) ready.push(static_cast<std::int32_t>(i));
  }
  std::size_t done = 0;
  const auto finish = [&](NodeId id) {
    ++done;
    for (const std::int32_t reader : readers[static_cast<std::size_t>(id.index)]) {
      if (--waits[static_cast<std::size_t>(reader)] == 0) ready.push(reader);
    }
  };
  while (!ready.empty()) {
    const NodeId id{ready.top()};
    ready.pop();
    const Node& node = graph_.node(id);
    std::vector<Endpoint> foreign;
    for (const Endpoint e : node.inputs) {
      if (owner(e.node) != owner(id)) foreign.push_back(e);
    }
    const bool enters = node.op->flow == Flow::kEnter || node.op->flow == Flow::kSwitch;
    ARGOSY_RETURN_IF_ERROR(exchange(foreign, in_flow_[static_cast<std::size_t>(id.index)] != 0 && !enters));
    const std::string group = spanning_group(node);
    if (group.empty()) {
      finish(id);
      continue;
    }
    std::vector<NodeId>& here = ready_members[group];
    here.push_back(id);
    if (here.size() < members[group]) continue;
    number_of_group_[group] = next_number_++;
    for (const NodeId member : here) finish(member);
  }
  if (done != n) return internal_error("the collectives of the step wait for each other");
  return exchange(fetched, false);
}

Status TaskCutter::add_exchanges() {
  for (std::size_t k = 0; k < exchanges_.size(); ++k) {
    const Exchange& exchange = exchanges_[k];
    TaskValuesSpec spec{.group = str_cat("tasks/values_", exchange.number), .net = {exchange.number, devices_.own, 1}};
    std::vector<Endpoint> own;
    for (const Endpoint e : exchange.values) {
      spec.dtypes.push_back(graph_.dtype(e));
      spec.shapes.push_back(graph_.shape(e));
      if (owner(e.node) == devices_.own) own.push_back(e);
    }
    ARGOSY_ASSIGN_OR_RETURN(const NodeId made, add_task_values(graph_, own, spec, spec.group));
    part_.exchanges_.push_back(made);
    for (std::size_t v = 0; v < exchange.values.size(); ++v) {
      const Endpoint e = exchange.values[v];
      if (owner(e.node) != devices_.own) part_.mirror_[e] = {made, static_cast<std::int32_t>(v)};
    }
  }
  return ok_status();
}

// Connects this task's nodes to mirrors of other tasks' values, removes their control inputs from other tasks' nodes,
// and places them on devices of this task's session.
Status TaskCutter::keep_own() {
  for (std::size_t i = 0; i < owners_.size(); ++i) {
    const NodeId id{static_cast<std::int32_t>(i)};
    if (owners_[i] != kEveryTask && owners_[i] != devices_.own) {
      // Whoever needs a collective needs its whole group: here the ranks of this task.
      if (const std::string group = spanning_group(graph_.node(id)); !group.empty()) {
        graph_.set_attr(id, "group", str_cat(group, "/task_", owners_[i]));
      }
      continue;
    }
    for (std::size_t k = 0; k < graph_.node(id).inputs.size(); ++k) {
      const Endpoint e = graph_.node(id).inputs[k];
      if (owner(e.node) == kEveryTask || owner(e.node) == devices_.own) continue;
      graph_.set_input(id, static_cast<int>(k), part_.mirror_.at(e));
    }
    const SmallVector<NodeId, 2> controls = graph_.node(id).controls;
    for (const NodeId c : controls) {
      if (owner(c) != kEveryTask && owner(c) != devices_.own) graph_.remove_control_input(id, c);
    }
    const Node& n = graph_.node(id);
    if (const std::string group = spanning_group(n); !group.empty()) {
      graph_.set_attr(id, kNetAttr,
                      std::vector<std::int64_t>{number_of_group_.at(group), devices_.first(devices_.own),
                                                devices_.count(devices_.own)});
    }
    const int position = device_of(n);
    if (position < 0) continue;
    const bool here = devices_.task[static_cast<std::size_t>(position)] == devices_.own;
    // What every task has may be anywhere.
    const auto own = static_cast<std::size_t>(position - (here ? devices_.first(devices_.own) : 0));
    graph_.set_device(id, here ? std::string_view(devices_.local[own]) : std::string_view());
  }
  return ok_status();
}

std::string TaskCutter::describe_program() const {
  std::string text;
  for (const Node& n : graph_.nodes()) {
    text += str_cat(n.name, " = ", n.op->name, " on ", n.device, " (");
    for (const Endpoint e : n.inputs) text += str_cat(e.node.index, ":", e.index, " ");
    for (const NodeId c : n.controls) text += str_cat("^", c.index, " ");
    text += ")";
    for (const AttrMap::Entry& attr : n.attrs) text += str_cat(" ", attr.name, "=", attr_to_string(attr.value));
    text += "\n";
  }
  return text;
}

Result<TaskPart> TaskCutter::run(const std::vector<Endpoint>& fetched) {
  for (const std::string& name : devices_.names) {
    ARGOSY_ASSIGN_OR_RETURN(names_.emplace_back(), DeviceName::parse(name));
  }
  part_.own_ = devices_.own;
  part_.global_ = std::make_shared<Graph>(graph_.clone());
  part_.program_ = describe_program();
  ARGOSY_RETURN_IF_ERROR(find_owners());
  ARGOSY_RETURN_IF_ERROR(number_collectives(fetched));
  ARGOSY_RETURN_IF_ERROR(add_exchanges());
  ARGOSY_RETURN_IF_ERROR(keep_own());
  part_.owner_ = owners_;
  part_.exchange_ = exchange_of_;
  part_.collectives_ = next_number_ - devices_.first_number;
  return std::move(part_);
}

}  // namespace argosy
