#include "argosy/passes/partition/loop_edges.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace argosy {

namespace {

Status crosses(const PlacedStep& placed, NodeId from, NodeId to, std::string_view what) {
  const Graph& graph = placed.graph();
  const Node& n = graph.node(to);
  return invalid_argument("'", n.name, "' (", n.op->name, ") on ", placed.task_name(placed.task(to)), " takes the ",
                          what, " '", graph.node(from).name, "', which is on ", placed.task_name(placed.task(from)),
                          ": only values cross between tasks")
      .with_id("ARG-PART-001")
      .with_where(str_cat("node '", n.name, "' (", n.op->name, ")"))
      .with_hint("ask for one device for both, or read the variable beside it: w.read_value()");
}

// --- references ------------------------------------------------------------------------------------------------------

// Reads the reference that input k of the node takes, beside its variable, when the node might run.
Status read_beside_variable(PlacedStep& placed, NodeId id, int k) {
  Graph& graph = placed.graph();
  const Node& n = graph.node(id);
  const Endpoint ref = n.inputs[static_cast<std::size_t>(k)];
  std::vector<NodeId> after(n.controls.begin(), n.controls.end());
  // A Merge runs when one of its inputs is there.
  for (const Endpoint e : n.inputs) {
    if (n.op->flow != Flow::kMerge && e != ref && !placed.is_everywhere(e.node)) after.push_back(e.node);
  }
  ARGOSY_ASSIGN_OR_RETURN(const NodeId read, placed.add({.name = str_cat(graph.node(ref.node).name, "/read"),
                                                         .op = "Identity",
                                                         .inputs = {ref},
                                                         .controls = std::move(after),
                                                         .attrs = {{"T", graph.dtype(ref)}},
                                                         .device = placed.device_name(placed.device(ref.node))},
                                                        placed.device(ref.node)));
  graph.set_input(id, k, {read, 0});
  return ok_status();
}

Status settle_references(PlacedStep& placed) {
  Graph& graph = placed.graph();
  const int size = graph.size();
  for (std::int32_t i = 0; i < size; ++i) {
    const NodeId id{i};
    std::vector<bool> refs;
    if (graph.node(id).op->has_ref_input()) {
      const Node& n = graph.node(id);
      ARGOSY_ASSIGN_OR_RETURN(const auto dtypes, arg_dtypes(n.op->input_args, n.attrs, &refs));
    }
    for (std::size_t k = 0; k < graph.node(id).inputs.size(); ++k) {
      const Endpoint from = graph.node(id).inputs[k];
      if (placed.task(from.node) == placed.task(id)) continue;
      if (graph.dtype(from) == DType::kResource) return crosses(placed, from.node, id, "handle");
      if (!graph.node(from.node).output_is_ref(from.index)) continue;
      if (k < refs.size() && refs[k]) return crosses(placed, from.node, id, "variable");
      ARGOSY_RETURN_IF_ERROR(read_beside_variable(placed, id, static_cast<int>(k)));
    }
  }
  return ok_status();
}

// --- loops -----------------------------------------------------------------------------------------------------------

// Enter, Exit and NextIteration where their edges do not cross in a loop's frame.
class LoopNodes {
 public:
  explicit LoopNodes(PlacedStep& placed) : placed_(placed) {}

  Status settle() {
    Graph& graph = placed_.graph();
    const auto in_loop = [](const Node& n) { return n.op->flow == Flow::kEnter || n.op->flow == Flow::kExit; };
    if (std::none_of(graph.nodes().begin(), graph.nodes().end(), in_loop)) return ok_status();
    ARGOSY_ASSIGN_OR_RETURN(const auto order, graph.topological_order());
    for (const NodeId id : order) {
      if (graph.node(id).op->flow == Flow::kExit) placed_.move(id, placed_.device(graph.node(id).inputs[0].node));
      note_reads(id);
    }
    // Readers first: an Enter may read another one.
    for (auto at = order.rbegin(); at != order.rend(); ++at) {
      if (follows_readers(*at)) ARGOSY_RETURN_IF_ERROR(follow_readers(*at));
    }
    return ok_status();
  }

 private:
  bool follows_readers(NodeId id) const {
    const Flow flow = placed_.graph().node(id).op->flow;
    return flow == Flow::kEnter || flow == Flow::kNextIteration;
  }

  void note_reads(NodeId id) {
    const Node& n = placed_.graph().node(id);
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
      if (follows_readers(n.inputs[k].node)) readers_[n.inputs[k].node.index].push_back({id, static_cast<int>(k)});
    }
    for (const NodeId c : n.controls) {
      if (follows_readers(c)) readers_[c.index].push_back({id, -1});
    }
  }

  // The node goes to the tasks of who reads it or waits for it; one copy for each beyond the first.
  Status follow_readers(NodeId id) {
    Graph& graph = placed_.graph();
    const std::vector<Graph::Use> uses = std::exchange(readers_[id.index], {});
    std::map<int, NodeId> of_task;  // task -> the node there
    for (const Graph::Use& use : uses) {
      if (placed_.task(use.node) == placed_.task(id)) of_task[placed_.task(id)] = id;
    }
    for (const Graph::Use& use : uses) {
      const int task = placed_.task(use.node);
      auto at = of_task.find(task);
      if (at == of_task.end()) {
        NodeId there = id;
        if (of_task.empty()) {
          placed_.move(id, placed_.device(use.node));
        } else {
          ARGOSY_ASSIGN_OR_RETURN(there, placed_.copy(id, placed_.device(use.node)));
          note_reads(there);
        }
        at = of_task.emplace(task, there).first;
      }
      if (at->second == id) continue;
      if (use.input >= 0) {
        graph.set_input(use.node, use.input, {at->second, 0});
      } else {
        graph.replace_control_input(use.node, id, at->second);
      }
    }
    return ok_status();
  }

  PlacedStep& placed_;
  std::map<std::int32_t, std::vector<Graph::Use>> readers_;  // of nodes that follow them
};

}  // namespace

Status settle_edges(PlacedStep& placed) {
  ARGOSY_RETURN_IF_ERROR(settle_references(placed));
  return LoopNodes(placed).settle();
}

}  // namespace argosy
