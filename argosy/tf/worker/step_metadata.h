// RunMetadata: what a step did, for clients that ask (RunOptions.trace_level, output_partition_graphs).
#pragma once

#include <string>

#include "argosy/graph/graph.h"
#include "argosy/runtime/device_set/stats.h"

namespace tensorflow {
class RunMetadata;
class StepStats;
}  // namespace tensorflow

namespace argosy::tf {

// Per device, every op that ran, when, what it gave and in which memory. `stats` was collected with keep_ops and
// keep_outputs.
void add_step_stats(const StepStats& stats, const Graph& graph, tensorflow::RunMetadata& to);
// Reads another task's statistics of its devices and ops. Leaves out what is malformed; impossible times become 0.
void read_step_stats(const tensorflow::StepStats& from, StepStats& to);
// One GraphDef per device: its nodes, where they were placed, and what they take from each other.
void add_partition_graphs(const PlacementReport& placement, const Graph& graph, tensorflow::RunMetadata& to);

}  // namespace argosy::tf
