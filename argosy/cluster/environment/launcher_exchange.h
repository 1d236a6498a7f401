// The exchange of a launcher: mpirun lets its processes tell each other a few words before they know any address. By it
// task 0 tells where it listens, and the job token.
#pragma once

#include <string>

#include "argosy/base/status.h"
#include "argosy/cluster/job_place.h"

namespace argosy {

// Called once by every task of the job; returns on each what task 0 gave as `value` (at most 900 bytes, no spaces).
// Waits for all tasks. UNAVAILABLE "ARG-CLUSTER-049": the launcher does not answer as it should.
Result<std::string> share_from_task_0(const JobPlace& place, const std::string& value);

// PMI-1: lines of text on the descriptor PMI_FD. Exposed for tests, with any descriptor.
Result<std::string> share_by_pmi1(int descriptor, int rank, const std::string& value);

}  // namespace argosy
