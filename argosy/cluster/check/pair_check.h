// check_pairs(): measures connectivity, speed and clock difference of every pair of tasks. For `argosy cluster check`.
#pragma once

#include <string>
#include <vector>

#include "argosy/cluster/job_tasks.h"
#include "argosy/cluster/job_token.h"

namespace argosy {

struct PairFacts {
  int from = 0, to = 0;
  double round_trip_seconds = 0;  // the shortest of twenty
  double bytes_per_second = 0;    // of messages of 4 MiB over one connection
  double clock_seconds = 0;       // how far the clock of `to` is ahead of that of `from`
  std::string error;              // not empty: `to` could not be measured, for this reason
};

// Every task of the job calls it. Returns all pairs on task 0, sorted by from and to; nothing on other tasks. Pairs
// without a common task are measured concurrently. A pair that fails gives a PairFacts::error, not an error.
Result<std::vector<PairFacts>> check_pairs(JobTasks& job, const JobToken& token,
                                           const std::vector<std::string>& insecure_networks);

// The message from a task to task 0, and its parser. DATA_LOSS "ARG-CLUSTER-046": malformed, or a rank outside
// [0, size).
std::string pairs_text(const std::vector<PairFacts>& pairs);
Result<std::vector<PairFacts>> read_pairs(std::string_view text, int size);

// Returns a line for each pair that fails, is less than half as fast as the median, or has clocks over 1 s apart.
std::vector<std::string> bad_pairs(const std::vector<PairFacts>& pairs, const std::vector<JobTask>& tasks);

}  // namespace argosy
