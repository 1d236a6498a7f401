#include "argosy/passes/partition/cut_graph.h"

#include <algorithm>

#include "argosy/base/small_vector.h"
#include "argosy/ops/send_recv/pack_values.h"
#include "argosy/passes/partition/dead_values.h"
#include "argosy/passes/simplify/order_ref_reads.h"

namespace argosy {

CutGraph::CutGraph(const PlacedStep& placed, const LoopFrames& frames, const ControlLoops& loops,
                   const std::vector<char>& maybe_dead, const PartitionOptions& options)
    : placed_(placed),
      whole_(placed.graph()),
      frames_(frames),
      loops_(loops),
      maybe_dead_(maybe_dead),
      options_(options) {
  for (int t = 0; t < placed_.tasks(); ++t) {
    parts_.push_back({.step = StepGraph{Graph(whole_.ops()), {}, {}, {}},
                      .copies = std::vector<NodeId>(static_cast<std::size_t>(whole_.size())),
                      .open = {},
                      .feeds = {},
                      .fetches = {},
                      .targets = {},
                      .used = t == 0});
    for (const auto& [name, function] : whole_.functions()) parts_.back().step.graph.add_function(function);
  }
}

Result<std::vector<Partition>> CutGraph::run(PartitionStats& stats) {
  for (std::int32_t i = 0; i < whole_.size(); ++i) {
    for (const Endpoint e : whole_.node(NodeId{i}).inputs) {
      if (is_cut(placed_, e.node, NodeId{i})) value_crossings_.insert({e.node, e.index, placed_.task(NodeId{i})});
    }
  }
  std::function<bool(int)> packs;
  if (options_.packs) {
    packs = [this](int task) { return options_.packs(placed_.device_name(placed_.host_of(task))); };
  }
  ARGOSY_ASSIGN_OR_RETURN(packed_, PackedTransfers::find(placed_, frames_, maybe_dead_, value_crossings_, packs));
  unpacked_.resize(packed_.messages().size());
  ARGOSY_RETURN_IF_ERROR(add_nodes());
  ARGOSY_RETURN_IF_ERROR(send_packed());
  ARGOSY_RETURN_IF_ERROR(add_ends());
  std::vector<Partition> partitions;
  for (int t = 0; t < placed_.tasks(); ++t) {
    Part& part = parts_[static_cast<std::size_t>(t)];
    if (!part.used) continue;
    ARGOSY_RETURN_IF_ERROR(Status(part.step.graph.status()));
    partitions.push_back({.task = placed_.task_name(t),
                          .step = std::move(part.step),
                          .feeds = std::move(part.feeds),
                          .fetches = std::move(part.fetches),
                          .targets = std::move(part.targets)});
  }
  stats = stats_;
  return partitions;
}

// --- nodes -----------------------------------------------------------------------------------------------------------

Status CutGraph::add_nodes() {
  ARGOSY_ASSIGN_OR_RETURN(const auto order, whole_.topological_order());
  for (const NodeId id : order) {
    // What is there in every frame goes where somebody reads it.
    if (!placed_.is_everywhere(id)) ARGOSY_RETURN_IF_ERROR(copy(id));
  }
  for (Part& part : parts_) {
    for (const auto& [merge, from] : part.open) {
      const NodeId next = part.copies[static_cast<std::size_t>(from.node.index)];
      if (next.index < 0) return internal_error("a loop's way back is on another task than its Merge");
      part.step.graph.add_input(merge, {next, from.index});
    }
  }
  for (const auto& [task, receive, merge] : anchored_) {
    Part& part = parts_[static_cast<std::size_t>(task)];
    part.step.graph.add_control_input(receive, part.copies[static_cast<std::size_t>(merge.index)]);
  }
  return ok_status();
}

Status CutGraph::copy(NodeId id) {
  const Node& n = whole_.node(id);
  const int task = placed_.task(id);
  Part& part = parts_[static_cast<std::size_t>(task)];
  SmallVector<Endpoint, 8> inputs;
  SmallVector<NodeId, 8> controls;
  std::vector<Endpoint> back_edges;
  for (const Endpoint e : n.inputs) {
    ARGOSY_ASSIGN_OR_RETURN(const Endpoint here, input(e, id));
    if (here.node.index < 0) {
      back_edges.push_back(e);
    } else {
      inputs.push_back(here);
    }
  }
  for (const NodeId c : n.controls) {
    ARGOSY_ASSIGN_OR_RETURN(const NodeId here, control(c, id));
    if (here.index >= 0 && std::find(controls.begin(), controls.end(), here) == controls.end())
      controls.push_back(here);
  }
  ARGOSY_ASSIGN_OR_RETURN(const NodeId added, part.step.graph.add_copy(whole_, id, inputs, controls, true));
  part.step.graph.set_device(added, placed_.device_name(placed_.device(id)));
  part.step.graph.set_colocation(added, Name());
  part.copies[static_cast<std::size_t>(id.index)] = added;
  for (const Endpoint e : back_edges) part.open.emplace_back(added, e);
  part.used = true;
  return ok_status();
}

// Returns the endpoint in the graph of the reader's task that stands for `e`. Index -1: a back edge, which is added
// later.
Result<Endpoint> CutGraph::input(Endpoint e, NodeId reader) {
  const int task = placed_.task(reader);
  if (placed_.is_everywhere(e.node)) {
    ARGOSY_ASSIGN_OR_RETURN(const NodeId here, own_copy(e.node, task));
    return Endpoint{here, e.index};
  }
  if (placed_.task(e.node) == task)
    return Endpoint{parts_[static_cast<std::size_t>(task)].copies[static_cast<std::size_t>(e.node.index)], e.index};
  return receive(e, reader);
}

// Index -1: there is nothing to wait for.
Result<NodeId> CutGraph::control(NodeId from, NodeId waiter) {
  const int task = placed_.task(waiter);
  const Part& part = parts_[static_cast<std::size_t>(task)];
  if (placed_.is_everywhere(from)) return NodeId{};
  if (placed_.task(from) == task) return part.copies[static_cast<std::size_t>(from.index)];
  return receive_order(from, waiter);
}

// A constant, a feed or a handle in the graph of this task.
Result<NodeId> CutGraph::own_copy(NodeId id, int task) {
  Part& part = parts_[static_cast<std::size_t>(task)];
  NodeId& here = part.copies[static_cast<std::size_t>(id.index)];
  if (here.index >= 0) return here;
  const bool local = placed_.task(id) == task;
  if (!local && placed_.is_handle(id)) {
    return invalid_argument("the handle '", whole_.node(id).name, "' is used on ", placed_.task_name(task),
                            " and is on ", placed_.task_name(placed_.task(id)), ": handles do not cross between tasks")
        .with_id("ARG-PART-001")
        .with_where(str_cat("node '", whole_.node(id).name, "'"));
  }
  ARGOSY_ASSIGN_OR_RETURN(here, part.step.graph.add_copy(whole_, id, {}, {}, true));
  part.step.graph.set_device(here, placed_.device_name(local ? placed_.device(id) : placed_.host_of(task)));
  part.step.graph.set_colocation(here, Name());
  return here;
}

// --- transfers -------------------------------------------------------------------------------------------------------

std::string CutGraph::transfer_name(NodeId from) {
  const std::int64_t number = options_.next_transfer ? options_.next_transfer() : next_transfer_++;
  std::string name = str_cat("edge_", number, "_", whole_.node(from).name);
  while (whole_.find(name + "/send") || whole_.find(name + "/recv") || whole_.find(name + "/order")) name += "_";
  return name;
}

Result<TransferEnds> CutGraph::ends_of(int from, int to, std::string name, bool never_dead) {
  TransferEnds ends{.name = std::move(name),
                    .send_device = placed_.device_name(placed_.host_of(from)),
                    .send_incarnation = 0,
                    .receive_device = placed_.device_name(placed_.host_of(to)),
                    .never_dead = never_dead};
  if (options_.incarnation) ends.send_incarnation = options_.incarnation(ends.send_device);
  return ends;
}

// Returns the received value of `e` in the graph of the reader's task; adds the transfer if needed.
Result<Endpoint> CutGraph::receive(Endpoint e, NodeId reader) {
  const int from = placed_.task(e.node), to = placed_.task(reader);
  Endpoint& received = received_[{e.node, e.index, to}];
  if (received.node.index >= 0) return received;
  if (const auto [message, place] = packed_.place_of({e.node, e.index, to}); message >= 0) {
    ARGOSY_ASSIGN_OR_RETURN(received, receive_packed(message, place));
    return received;
  }
  Endpoint value;
  if (e.index == Value::kControl) {
    ARGOSY_ASSIGN_OR_RETURN(value, control_token(e.node));
    ++stats_.orders;
  } else {
    value = {parts_[static_cast<std::size_t>(from)].copies[static_cast<std::size_t>(e.node.index)], e.index};
    ++stats_.values;
  }
  ++stats_.messages;
  Graph& sender = parts_[static_cast<std::size_t>(from)].step.graph;
  Graph& receiver = parts_[static_cast<std::size_t>(to)].step.graph;
  ARGOSY_ASSIGN_OR_RETURN(const TransferEnds ends,
                          ends_of(from, to, transfer_name(e.node), !may_be_dead(whole_, maybe_dead_, e)));
  ARGOSY_ASSIGN_OR_RETURN(const NodeId sent, add_send(sender, value, ends));
  parts_[static_cast<std::size_t>(from)].step.targets.push_back(sent);
  ARGOSY_ASSIGN_OR_RETURN(const NodeId node, add_receive(receiver, sender.dtype(value), sender.shape(value), ends));
  received = {node, 0};
  if (const int frame = frames_.of_outputs(whole_, e.node); frame > LoopFrames::kRoot)
    anchored_.emplace_back(to, node, loops_.at({frame, to}));
  return received;
}

// A value of a message. What packs it comes when all values are there (send_packed).
Result<Endpoint> CutGraph::receive_packed(int message, int place) {
  const PackedTransfers::Message& m = packed_.messages()[static_cast<std::size_t>(message)];
  auto& [unpack, ends] = unpacked_[static_cast<std::size_t>(message)];
  if (unpack.index < 0) {
    ARGOSY_ASSIGN_OR_RETURN(ends, ends_of(m.from, m.to, transfer_name(m.values[0].node), true));
    Graph& receiver = parts_[static_cast<std::size_t>(m.to)].step.graph;
    ARGOSY_ASSIGN_OR_RETURN(const NodeId received, add_receive(receiver, DType::kUint8, PartialShape({-1}), ends));
    std::vector<DType> dtypes;
    std::vector<PartialShape> shapes;
    for (const Endpoint e : m.values) {
      dtypes.push_back(whole_.dtype(e));
      shapes.push_back(whole_.shape(e));
    }
    ARGOSY_ASSIGN_OR_RETURN(unpack, add_unpack(receiver, ends.name + "/unpack", {received, 0}, std::move(dtypes),
                                               std::move(shapes), ends.receive_device));
    stats_.values += static_cast<int>(m.values.size());
    ++stats_.messages;
  }
  return Endpoint{unpack, place};
}

Status CutGraph::send_packed() {
  for (std::size_t i = 0; i < unpacked_.size(); ++i) {
    const auto& [unpack, ends] = unpacked_[i];
    const PackedTransfers::Message& m = packed_.messages()[i];
    if (unpack.index < 0) continue;
    Part& sender = parts_[static_cast<std::size_t>(m.from)];
    std::vector<Endpoint> values;
    for (const Endpoint e : m.values)
      values.push_back({sender.copies[static_cast<std::size_t>(e.node.index)], e.index});
    ARGOSY_ASSIGN_OR_RETURN(const NodeId packed,
                            add_pack(sender.step.graph, ends.name + "/pack", values, ends.send_device));
    ARGOSY_ASSIGN_OR_RETURN(const NodeId sent, add_send(sender.step.graph, {packed, 0}, ends));
    sender.step.targets.push_back(sent);
  }
  return ok_status();
}

// Returns a node on the waiter's task to wait for in place of `from`. It is dead if `from` is.
Result<NodeId> CutGraph::receive_order(NodeId from, NodeId waiter) {
  const int task = placed_.task(waiter);
  const Endpoint value = any_value_crossing(from, task);
  ARGOSY_ASSIGN_OR_RETURN(const Endpoint received, receive(value, waiter));
  // Not the receiving node itself: TensorFlow's runs live and gives a dead value.
  Graph& graph = parts_[static_cast<std::size_t>(task)].step.graph;
  // An attribute of a receive names its transfer; a value of a message is named by its place.
  const auto* const transfer = graph.node(received.node).attrs.find_as<std::string>("tensor_name");
  const std::string name = transfer != nullptr ? *transfer + "/order"
                                               : str_cat(graph.node(received.node).name, "_", received.index, "/order");
  if (const auto there = graph.find(name)) return *there;
  return graph.add_node({.name = name,
                         .op = "Identity",
                         .inputs = {received},
                         .attrs = {{"T", graph.dtype(received)}},
                         .device = placed_.device_name(placed_.host_of(task))});
}

// A value of this node that crosses anyway, dead when the node is; else the order alone.
Endpoint CutGraph::any_value_crossing(NodeId from, int task) const {
  const Endpoint order{from, Value::kControl};
  if (whole_.node(from).op->flow != Flow::kNone) return order;
  const auto at = value_crossings_.lower_bound({from, 0, 0});
  for (auto c = at; c != value_crossings_.end() && std::get<0>(*c) == from; ++c) {
    if (std::get<2>(*c) == task) return {from, std::get<1>(*c)};
  }
  return order;
}

// An empty constant that waits for the node, in its task's graph.
Result<Endpoint> CutGraph::control_token(NodeId from) {
  NodeId& there = control_tokens_[from];
  if (there.index < 0) {
    const int task = placed_.task(from);
    Part& part = parts_[static_cast<std::size_t>(task)];
    std::string name = str_cat("_order/", whole_.node(from).name);
    while (whole_.find(name)) name += "_";
    ARGOSY_ASSIGN_OR_RETURN(
        there, part.step.graph.add_node({.name = name,
                                         .op = "Const",
                                         .controls = {part.copies[static_cast<std::size_t>(from.index)]},
                                         .attrs = {{"dtype", DType::kFloat32}, {"value", Tensor::vector<float>({})}},
                                         .device = placed_.device_name(placed_.host_of(task))}));
  }
  return Endpoint{there, 0};
}

// --- feeds, fetches, targets -----------------------------------------------------------------------------------------

// The node in the graph of the task that is asked for it. Constants and feeds are the own task's.
Result<std::pair<int, NodeId>> CutGraph::asked_for(NodeId id) {
  const bool everywhere = placed_.is_everywhere(id);
  const int task = everywhere && !placed_.is_handle(id) ? 0 : placed_.task(id);
  Part& part = parts_[static_cast<std::size_t>(task)];
  part.used = true;
  if (everywhere) ARGOSY_RETURN_IF_ERROR(own_copy(id, task).status());
  return std::pair(task, part.copies[static_cast<std::size_t>(id.index)]);
}

Status CutGraph::add_ends() {
  const StepGraph& whole = placed_.step;
  for (std::size_t i = 0; i < whole.fetches.size(); ++i) {
    ARGOSY_ASSIGN_OR_RETURN(const auto asked, asked_for(whole.fetches[i].node));
    const auto [task, node] = asked;
    parts_[static_cast<std::size_t>(task)].step.fetches.push_back({node, whole.fetches[i].index});
    parts_[static_cast<std::size_t>(task)].fetches.push_back(static_cast<int>(i));
  }
  for (std::size_t i = 0; i < whole.targets.size(); ++i) {
    ARGOSY_ASSIGN_OR_RETURN(const auto asked, asked_for(whole.targets[i]));
    const auto [task, node] = asked;
    Part& part = parts_[static_cast<std::size_t>(task)];
    part.step.targets.push_back(node);
    part.targets.push_back(static_cast<int>(i));
    const auto* const fetched_as =
        whole.graph.node(whole.targets[i]).attrs.find_as<std::vector<std::int64_t>>(kFetchedAs);
    if (fetched_as == nullptr) continue;
    std::vector<std::int64_t> positions;
    for (std::size_t k = 0; k < part.fetches.size(); ++k) {
      if (std::ranges::find(*fetched_as, part.fetches[k]) != fetched_as->end()) {
        positions.push_back(static_cast<std::int64_t>(k));
      }
    }
    part.step.graph.set_attr(node, kFetchedAs, std::move(positions));
  }
  for (Part& part : parts_) {
    for (std::size_t i = 0; i < whole.feeds.size(); ++i) {
      const NodeId feed = part.copies[static_cast<std::size_t>(whole.feeds[i].index)];
      if (feed.index < 0) continue;
      part.step.feeds.push_back(feed);
      part.feeds.push_back(static_cast<int>(i));
    }
  }
  return ok_status();
}

}  // namespace argosy
