#include "argosy/passes/partition/partition.h"

#include <map>

#include "argosy/passes/partition/cut_graph.h"
#include "argosy/passes/partition/dead_values.h"
#include "argosy/passes/partition/gather_groups.h"
#include "argosy/passes/partition/loop_edges.h"
#include "argosy/passes/partition/loop_entries.h"
#include "argosy/passes/place/resolve_collective_groups.h"

namespace argosy {

namespace {

Status check_collectives(const PlacedStep& placed) {
  std::map<std::string, NodeId> first;
  for (std::int32_t i = 0; i < placed.graph().size(); ++i) {
    const Node& n = placed.graph().node(NodeId{i});
    if (!n.op->collective || meets_by_key(n)) continue;
    std::string group = n.attrs.get_or<std::string>("group", "");
    if (group.empty()) continue;  // it waits for no partner: IteratorGetNext
    const NodeId other = first.try_emplace(std::move(group), NodeId{i}).first->second;
    if (placed.task(other) == placed.task(NodeId{i})) continue;
    return unimplemented("the collective '", n.name, "' (", n.op->name, ") is on ",
                         placed.task_name(placed.task(NodeId{i})), ", and '", placed.graph().node(other).name,
                         "' of the same group on ", placed.task_name(placed.task(other)))
        .with_id("ARG-PART-003")
        .with_where(str_cat("node '", n.name, "' (", n.op->name, ")"))
        .with_hint("put a group on the devices of one task");
  }
  return ok_status();
}

}  // namespace

Result<std::vector<Partition>> partition(StepGraph step, const DevicePlacement& placement,
                                         const PartitionOptions& options, PartitionStats* stats) {
  PlacedStep placed(std::move(step), placement, options.own_device);
  std::vector<std::string> notes = std::move(placed.step.notes);
  ARGOSY_ASSIGN_OR_RETURN(const int gathered, gather_groups(placed));
  ARGOSY_RETURN_IF_ERROR(check_collectives(placed));
  ARGOSY_RETURN_IF_ERROR(settle_edges(placed));
  ARGOSY_ASSIGN_OR_RETURN(LoopFrames frames, LoopFrames::find(placed));
  ARGOSY_RETURN_IF_ERROR(check_loop_entries(placed, frames));
  std::function<bool(int)> is_foreign;
  if (options.is_foreign) {
    is_foreign = [&](int task) { return options.is_foreign(placed.device_name(placed.host_of(task))); };
  }
  ARGOSY_ASSIGN_OR_RETURN(const ControlLoops loops, add_control_loops(placed, frames, is_foreign));
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<char> maybe_dead, find_maybe_dead(placed.graph(), frames));
  PartitionStats counted;
  ARGOSY_ASSIGN_OR_RETURN(auto partitions, CutGraph(placed, frames, loops, maybe_dead, options).run(counted));
  counted.control_loops = static_cast<int>(loops.size());
  counted.groups = gathered;
  notes.push_back(str_cat("partition: ", partitions.size(), " tasks, ", counted.values, " values and ", counted.orders,
                          " orders cross in ", counted.messages, " messages, ", counted.control_loops, " control loops",
                          gathered > 0 ? str_cat(", ", gathered, " collectives over tasks") : std::string()));
  partitions[0].step.notes = std::move(notes);
  if (stats != nullptr) *stats = counted;
  return partitions;
}

}  // namespace argosy
