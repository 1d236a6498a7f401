#include "argosy/tf/server/replication/stream_places.h"

#include <algorithm>
#include <map>
#include <vector>

#include "argosy/device/name.h"
#include "argosy/ops/random/stream_place.h"

namespace argosy::tf {

namespace {

bool draws_of_stream(const Node& n) {
  const auto* stream = n.attrs.find_as<std::string>("stream");
  return stream != nullptr && !stream->empty() && n.attrs.find("seed") != nullptr && n.attrs.find("index") != nullptr;
}

// "/job:worker/replica:0/task:1/device:CPU:0" of any device of that task.
Result<std::string> host_of(const std::string& device) {
  ARGOSY_ASSIGN_OR_RETURN(DeviceName name, DeviceName::parse(device));
  name.type = "CPU";
  name.id = 0;
  return name.to_string();
}

// By node: does it run once in an iteration, or in one branch alone?
Result<std::vector<char>> in_flow(const Graph& graph) {
  std::vector<char> flow(static_cast<std::size_t>(graph.size()), 0);
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<NodeId> order, graph.topological_order());
  for (const NodeId id : order) {
    const Node& n = graph.node(id);
    char& own = flow[static_cast<std::size_t>(id.index)];
    const auto starts_loop = [&](Endpoint e) {
      const Node& from = graph.node(e.node);
      return from.op->closes_loop || from.op->flow == Flow::kEnter;
    };
    // After a loop or a conditional its value is one of the step again.
    const bool leaves = n.op->flow == Flow::kExit ||
                        (n.op->flow == Flow::kMerge && std::none_of(n.inputs.begin(), n.inputs.end(), starts_loop));
    if (leaves) continue;
    if (n.op->flow == Flow::kEnter || n.op->flow == Flow::kSwitch) own = 1;
    for (const Endpoint e : n.inputs) own |= flow[static_cast<std::size_t>(e.node.index)];
    for (const NodeId c : n.controls) own |= flow[static_cast<std::size_t>(c.index)];
  }
  return flow;
}

}  // namespace

Status tell_stream_places(Graph& graph, const std::string& own_host) {
  std::map<std::string, std::vector<NodeId>> streams;
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(NodeId{i});
    if (draws_of_stream(n)) streams[n.attrs.get_string("stream")].push_back(NodeId{i});
  }
  if (streams.empty()) return ok_status();
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<char> flow, in_flow(graph));
  for (const auto& [stream, draws] : streams) {
    std::map<std::string, std::vector<NodeId>> by_host;
    for (const NodeId id : draws) {
      const Node& n = graph.node(id);
      if (flow[static_cast<std::size_t>(id.index)] != 0) {
        return unimplemented("'", stream,
                             "' draws random numbers in a loop or a branch, and its shards are on several tasks")
            .with_id("ARG-CLUSTER-122")
            .with_where(str_cat("node '", stream, "'"))
            .with_hint("draw them before the loop, or replicate over the GPUs of one task: ConfigProto.device_filters");
      }
      ARGOSY_ASSIGN_OR_RETURN(const std::string host, host_of(n.device));
      by_host[host].push_back(id);
    }
    if (by_host.size() == 1 && by_host.contains(own_host)) continue;
    ARGOSY_ASSIGN_OR_RETURN(const NodeId place, add_stream_place(graph, graph.node(draws[0])));
    graph.set_device(place, own_host);
    for (const auto& [host, readers] : by_host) {
      NodeId before = place;
      if (host != own_host) {
        ARGOSY_ASSIGN_OR_RETURN(before, add_set_stream_place(graph, graph.node(draws[0]), {place, 0}));
        graph.set_device(before, host);
      }
      for (const NodeId id : readers) graph.add_control_input(id, before);
    }
  }
  return ok_status();
}

}  // namespace argosy::tf
