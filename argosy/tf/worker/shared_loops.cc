#include "argosy/tf/worker/shared_loops.h"

#include <algorithm>
#include <map>
#include <vector>

#include "argosy/formats/proto/worker.pb.h"
#include "argosy/ops/send_recv/send_recv.h"
#include "argosy/tf/worker/peers/peers.h"

namespace argosy::tf {

namespace {

// How many loops lie around a node's outputs, by node.
Result<std::vector<int>> loop_depths(const Graph& graph) {
  std::vector<int> depths(static_cast<std::size_t>(graph.size()), 0);
  ARGOSY_ASSIGN_OR_RETURN(const auto order, graph.topological_order());
  for (const NodeId id : order) {
    const Node& n = graph.node(id);
    int depth = 0;
    for (const Endpoint e : n.inputs) depth = std::max(depth, depths[static_cast<std::size_t>(e.node.index)]);
    for (const NodeId c : n.controls) depth = std::max(depth, depths[static_cast<std::size_t>(c.index)]);
    if (n.op->flow == Flow::kEnter) ++depth;
    if (n.op->flow == Flow::kExit) --depth;
    depths[static_cast<std::size_t>(id.index)] = depth;
  }
  return depths;
}

Status refused(const Node& transfer, const TaskName& own, const TaskName& other) {
  return unimplemented("a loop runs on ", other, ", whose server numbers frames as TensorFlow before 2.5 does, and on ",
                       own, ", one of Argosy: such tasks share no loop")
      .with_id("ARG-PART-004")
      .with_where(str_cat("node '", transfer.name, "' (", transfer.op->name, ")"))
      .with_hint("put the loop on one task, with tf.device; or start all tasks with argosy serve");
}

}  // namespace

bool numbers_frames_as_we(const tensorflow::GetStatusResponse& status) {
  constexpr int kSince = 2;  // our protocol
  if (status.argosy_protocol() > 0) return status.argosy_protocol() >= kSince;
  return std::ranges::any_of(status.device_attributes(), [](const auto& d) { return d.xla_global_id() != 0; });
}

Status check_shared_loops(const StepGraph& step, const TaskName& own,
                          const std::function<bool(const TaskName& task)>& may_share) {
  const Graph& graph = step.graph;
  const auto enters = [](const Node& n) { return n.op->flow == Flow::kEnter; };
  if (std::none_of(graph.nodes().begin(), graph.nodes().end(), enters)) return ok_status();
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<int> depths, loop_depths(graph));
  std::map<TaskName, bool> asked;
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(NodeId{i});
    const Transfer transfer = transfer_of(*n.op);
    if (transfer == Transfer::kNone || depths[static_cast<std::size_t>(i)] <= 0) continue;
    const auto other = task_of(n.attrs.get_string(transfer == Transfer::kSend ? "recv_device" : "send_device"));
    if (!other.ok() || *other == own) continue;  // a key that is none is told when it runs
    const auto [at, fresh] = asked.try_emplace(*other, true);
    if (fresh) at->second = may_share(*other);
    if (!at->second) return refused(n, own, *other);
  }
  return ok_status();
}

}  // namespace argosy::tf
