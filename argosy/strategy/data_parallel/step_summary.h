// The summary of a replicated step in one line. Internal to strategy/.
#pragma once

#include <string>
#include <vector>

#include "argosy/strategy/data_parallel/data_parallel.h"
#include "argosy/strategy/data_parallel/replica_layout.h"
#include "argosy/strategy/zero/sharded_updates.h"

namespace argosy {

struct StepSummary {
  const ReplicaLayout& layout;
  std::vector<PlacementKind> losses = {};      // how each combines over shards
  std::size_t sums = 0;                        // values that are summed over shards
  std::vector<std::size_t> bucket_bytes = {};  // of the all-reduces, in starting order
  int joined = 0;                              // sparse gradients whose rows are gathered
  int gathered = 0;                            // values of other collectives: all-gathers, maxima and minima
  const ShardedUpdates* zero = nullptr;        // null: ZeRO-1 is off
  const std::vector<ReplicationNote>& notes;
};

// "2 devices, loss: a mean over the batch, 12 sums in 3 all-reduces (0.3 MiB, 4.0 MiB, 2.1 MiB)".
std::string summary_text(const StepSummary& step);

}  // namespace argosy
