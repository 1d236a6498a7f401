// check_pairs(): can every task reach every other, how fast, and do their clocks agree? For `argosy cluster check`.
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
  std::string error;              // not empty: `to` could not be reached, the network's words
};

// Called by every task of the job. Task 0 gets all pairs, by from and to; the others none. Pairs that do not touch each
// other's tasks are measured at once. A pair that does not work is a row, not an error.
Result<std::vector<PairFacts>> check_pairs(JobTasks& job, const JobToken& token,
                                           const std::vector<std::string>& insecure_networks);

// What a task tells task 0, and how that reads it. DATA_LOSS "ARG-CLUSTER-046": no such text, or a task that is none of
// `size`.
std::string pairs_text(const std::vector<PairFacts>& pairs);
Result<std::vector<PairFacts>> read_pairs(std::string_view text, int size);

// The pairs that stand out: what fails, and what is under half as fast as the median of all. One line each.
std::vector<std::string> bad_pairs(const std::vector<PairFacts>& pairs, const std::vector<JobTask>& tasks);

}  // namespace argosy
