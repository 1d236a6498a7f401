// Collectives whose members find each other by name or keys (OpDef::group): who belongs together is settled before the
// step runs, so that nobody waits for a member that cannot come.
//
//   gpu:0: NcclAllReduce "c0" of 2     ──►     "group" nccl c0, "rank" 0, "size" 2
//   gpu:1: NcclAllReduce "c0" of 2     ──►     "group" nccl c0, "rank" 1, "size" 2
//
// Ranks are in the order of the devices that the members ask for. Where each device has several members of one group (a
// function called more than once), they meet in turn.
//
// A task of a cluster has steps whose members are in other tasks' steps. Those keep their keys, and meet while they run
// (argosy/ops/collective/keyed_tasks.h).
#pragma once

#include <cstdint>
#include <optional>

#include "argosy/passes/simplify/prune.h"

namespace argosy {

// How many groups there are. "ARG-GROUP-…": members that are missing from the step (INVALID_ARGUMENT), too many, or do
// not agree on what they do (INTERNAL, as in TensorFlow); keys that are not known before the step (UNIMPLEMENTED).
// `over_tasks`: members by keys that are on several tasks, or not all in this step, are left to meet while they run.
Result<int> resolve_collective_groups(StepGraph& step, bool over_tasks = false);

// A collective by keys that the pass has left to meet while it runs.
bool meets_by_key(const Node& node);

// Of a step with such collectives: the number by which tasks know that their steps belong together, which is
// TensorFlow's hash of instance keys. Unset: it has none.
std::optional<std::int64_t> collective_graph_key(const Graph& graph);

}  // namespace argosy
