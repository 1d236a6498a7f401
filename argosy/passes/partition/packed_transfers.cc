#include "argosy/passes/partition/packed_transfers.h"

#include <algorithm>
#include <cstdint>

#include "argosy/passes/partition/control_loops.h"
#include "argosy/passes/partition/dead_values.h"

namespace argosy {

namespace {

// A summary of the nodes on which a node depends.
struct Before {
  int depth = 0;              // the most transfers on a path to it
  std::uint64_t waiting = 0;  // blocking ops, one bit each
  bool loop = false;          // a loop is among them; back edges are not followed, so the depth is not known
};

constexpr int kMostWaiting = 64;  // with more of them nothing is packed

// By node. Empty: too many ops wait.
Result<std::vector<Before>> find_before(const PlacedStep& placed) {
  const Graph& graph = placed.graph();
  ARGOSY_ASSIGN_OR_RETURN(const auto order, graph.topological_order());
  std::vector<Before> before(static_cast<std::size_t>(graph.size()));
  int waiting = 0;
  for (const NodeId id : order) {
    const Node& n = graph.node(id);
    Before& here = before[static_cast<std::size_t>(id.index)];
    const auto add = [&](NodeId from) {
      const Before& there = before[static_cast<std::size_t>(from.index)];
      here.depth = std::max(here.depth, there.depth + (is_cut(placed, from, id) ? 1 : 0));
      here.waiting |= there.waiting;
      here.loop = here.loop || there.loop;
    };
    here.loop = n.op->flow == Flow::kEnter || n.op->flow == Flow::kExit;
    for (const Endpoint e : n.inputs) add(e.node);
    for (const NodeId c : n.controls) add(c);
    if (!n.op->async) continue;
    if (waiting == kMostWaiting) return std::vector<Before>();
    here.waiting |= std::uint64_t{1} << waiting++;
  }
  return before;
}

// 0: it is not small, or nobody knows.
std::size_t small_bytes(const Graph& graph, Endpoint e) {
  const DType dtype = graph.dtype(e);
  const PartialShape& shape = graph.shape(e);
  if (!is_plain(dtype) || !shape.is_full()) return 0;
  const auto elements = static_cast<std::uint64_t>(shape.elements());
  if (elements > PackedTransfers::kMostBytes / element_bytes(dtype)) return 0;
  return std::max<std::size_t>(1, elements * element_bytes(dtype));
}

}  // namespace

Result<PackedTransfers> PackedTransfers::find(const PlacedStep& placed, const LoopFrames& frames,
                                              const std::vector<char>& maybe_dead, const std::set<Crossing>& crossings,
                                              const std::function<bool(int)>& packs) {
  PackedTransfers found;
  if (!packs || crossings.size() < 2) return found;
  const Graph& graph = placed.graph();
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<Before> before, find_before(placed));
  if (before.empty()) return found;
  using Kind = std::tuple<int, int, int, std::uint64_t>;  // from, to, depth, ops that wait
  struct Open {
    Message message;
    std::vector<Crossing> crossings;
    std::size_t bytes = 0;
  };
  std::map<Kind, Open> open;
  const auto close = [&found](Open& group) {
    if (group.crossings.size() > 1) {
      for (std::size_t i = 0; i < group.crossings.size(); ++i)
        found.places_[group.crossings[i]] = {static_cast<int>(found.messages_.size()), static_cast<int>(i)};
      found.messages_.push_back(std::move(group.message));
    }
    group = {};
  };
  for (const Crossing& crossing : crossings) {
    const auto [node, index, to] = crossing;
    const Endpoint e{node, index};
    const int from = placed.task(node);
    if (frames.of_outputs(graph, node) != LoopFrames::kRoot || may_be_dead(graph, maybe_dead, e)) continue;
    const std::size_t bytes = small_bytes(graph, e);
    const Before& here = before[static_cast<std::size_t>(node.index)];
    if (bytes == 0 || here.loop || !packs(from) || !packs(to)) continue;
    Open& group = open[{from, to, here.depth, here.waiting}];
    if (group.bytes + bytes > kMostOfMessage) close(group);
    group.message.from = from, group.message.to = to;
    group.message.values.push_back(e);
    group.crossings.push_back(crossing);
    group.bytes += bytes;
  }
  for (auto& [kind, group] : open) close(group);
  return found;
}

std::pair<int, int> PackedTransfers::place_of(const Crossing& crossing) const {
  const auto at = places_.find(crossing);
  return at == places_.end() ? std::pair(-1, -1) : at->second;
}

}  // namespace argosy
