// JobStatus: a coordinator's report on its job, for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "argosy/base/status.h"
#include "argosy/cluster/job_tasks.h"
#include "argosy/cluster/job_token.h"

namespace argosy {

struct TaskReport {
  JobTask task;
  std::string state;  // "missing", "joined", "running", "left", "lost"
  std::int64_t step = 0;
  std::string doing, barrier;
  double unchanged_seconds = 0;  // since step or doing changed
  double heard_seconds = -1;     // since its last call; -1: none yet
};

struct JobStatus {
  std::string job, version, waits;  // waits: which tasks wait for which; empty: none
  int size = 0;
  bool ready = false;
  double age_seconds = 0;
  std::vector<TaskReport> tasks;
  Status cause;  // why it ended; OK: it runs
};

// Asks the coordinator at "host:port". UNAVAILABLE: nobody answers there; PERMISSION_DENIED: the token is wrong.
Result<JobStatus> ask_status(const std::string& address, const JobToken& token);

}  // namespace argosy
