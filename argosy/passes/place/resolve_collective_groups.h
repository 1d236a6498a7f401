// Collectives whose members find each other by name or keys (OpDef::group). This pass determines their groups before
// the step runs, so that no member waits for one that will never arrive.
//
//   gpu:0: NcclAllReduce "c0" of 2     ──►     "group" nccl c0, "rank" 0, "size" 2
//   gpu:1: NcclAllReduce "c0" of 2     ──►     "group" nccl c0, "rank" 1, "size" 2
//
// Ranks follow the order of the members' requested devices. If each device has several members of one group (a function
// called more than once), the i-th members of all devices form the i-th collective.
//
// A task of a cluster has steps whose members are in other tasks' steps. Those keep their keys, and meet while they run
// (argosy/ops/collective/keyed_tasks.h).
#pragma once

#include <cstdint>
#include <optional>

#include "argosy/passes/simplify/prune.h"

namespace argosy {

// Returns the number of groups. Errors "ARG-GROUP-…": members are missing from the step (INVALID_ARGUMENT); there are
// too many members, or they disagree (INTERNAL, as in TensorFlow); keys are not known before the step (UNIMPLEMENTED).
// `over_tasks`: groups by keys stay unresolved, and meet at run time, if they span tasks or have members outside this
// step.
Result<int> resolve_collective_groups(StepGraph& step, bool over_tasks = false);

// True for a collective by keys that the pass left unresolved, to meet at run time.
bool meets_by_key(const Node& node);

// The number by which tasks recognise the steps that run such collectives together: TensorFlow's hash of the instance
// keys. nullopt: the graph has no such collective.
std::optional<std::int64_t> collective_graph_key(const Graph& graph);

}  // namespace argosy
