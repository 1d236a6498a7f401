#include "argosy/passes/partition/gather_groups.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "argosy/passes/partition/loop_frames.h"

namespace argosy {

namespace {

// 1 where the size is not known: it still counts as a value.
std::int64_t bytes_of(const Graph& graph, Endpoint e) {
  const PartialShape& shape = graph.shape(e);
  if (!shape.is_full()) return 1;
  std::int64_t elements = 1;
  for (int i = 0; i < shape.rank(); ++i) elements *= std::max<std::int64_t>(shape[i], 1);
  return std::max<std::int64_t>(1, elements * static_cast<std::int64_t>(element_bytes(graph.dtype(e))));
}

// Where results belong to ranks, or are made of what ranks have, an op says how much each has.
bool gives_all_the_same(const Node& n) { return n.op->attr("weights") == nullptr; }

bool can_move(const Graph& graph, NodeId id) {
  const Node& n = graph.node(id);
  return n.op->group == nullptr && !n.op->has_ref_input() &&
         std::none_of(n.inputs.begin(), n.inputs.end(), [&](Endpoint e) { return graph.dtype(e) == DType::kResource; });
}

class Gatherer {
 public:
  explicit Gatherer(PlacedStep& placed) : placed_(placed), load_(static_cast<std::size_t>(placed.tasks()), 0) {}

  Result<int> run() {
    std::map<std::string, std::vector<NodeId>> groups;
    std::vector<std::string> order;  // of their first members
    for (std::int32_t i = 0; i < placed_.graph().size(); ++i) {
      const Node& n = placed_.graph().node(NodeId{i});
      if (!n.op->collective) continue;
      std::string name = n.attrs.get_or<std::string>("group", "");
      if (name.empty()) continue;
      std::vector<NodeId>& members = groups[name];
      if (members.empty()) order.push_back(std::move(name));
      members.push_back(NodeId{i});
    }
    std::erase_if(order, [&](const std::string& name) {
      const std::vector<NodeId>& members = groups[name];
      return std::ranges::all_of(members, [&](NodeId id) { return placed_.task(id) == placed_.task(members[0]); });
    });
    if (order.empty()) return 0;
    ARGOSY_ASSIGN_OR_RETURN(const LoopFrames frames, LoopFrames::find(placed_));
    int moved = 0;
    for (const std::string& name : order) {
      const bool in_loop =
          std::ranges::any_of(groups[name], [&](NodeId id) { return frames.of(id) > LoopFrames::kRoot; });
      moved += !in_loop && gather(groups[name]) ? 1 : 0;
    }
    if (!instead_.empty()) replace_readers();
    return moved;
  }

 private:
  bool gather(const std::vector<NodeId>& members) {
    std::vector<std::int64_t> bytes(load_.size(), 0);
    std::vector<int> tasks;  // of its members
    for (const NodeId id : members) {
      const int task = placed_.task(id);
      if (!can_move(placed_.graph(), id)) return false;
      if (std::find(tasks.begin(), tasks.end(), task) == tasks.end()) tasks.push_back(task);
      for (const Endpoint e : placed_.graph().node(id).inputs)
        bytes[static_cast<std::size_t>(task)] += bytes_of(placed_.graph(), e);
    }
    // What the others bring arrives at the one that adds.
    std::int64_t all = 0;
    for (const std::int64_t b : bytes) all += b;
    const auto after = [&](int task) {
      return load_[static_cast<std::size_t>(task)] + all - bytes[static_cast<std::size_t>(task)];
    };
    std::sort(tasks.begin(), tasks.end());
    const int owner = *std::min_element(tasks.begin(), tasks.end(), [&](int a, int b) { return after(a) < after(b); });
    load_[static_cast<std::size_t>(owner)] = after(owner);
    for (const NodeId id : members) {
      placed_.move(id, placed_.host_of(owner));
      if (id != members[0] && gives_all_the_same(placed_.graph().node(id))) instead_[id] = members[0];
    }
    return true;
  }

  void replace_readers() {
    Graph& graph = placed_.graph();
    for (std::int32_t i = 0; i < graph.size(); ++i) {
      const NodeId id{i};
      for (std::size_t k = 0; k < graph.node(id).inputs.size(); ++k) {
        const Endpoint e = graph.node(id).inputs[k];
        if (const auto first = instead_.find(e.node); first != instead_.end())
          graph.set_input(id, static_cast<int>(k), {first->second, e.index});
      }
    }
    for (Endpoint& e : placed_.step.fetches) {
      if (const auto first = instead_.find(e.node); first != instead_.end()) e.node = first->second;
    }
  }

  PlacedStep& placed_;
  std::vector<std::int64_t> load_;    // by task: bytes that arrive there for groups
  std::map<NodeId, NodeId> instead_;  // whose results the readers of this member take
};

}  // namespace

Result<int> gather_groups(PlacedStep& placed) { return Gatherer(placed).run(); }

}  // namespace argosy
