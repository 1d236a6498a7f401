// The key-value exchange of a launcher (PMI-1, PMIx): processes of mpirun can exchange short strings before they know
// any address. Task 0 uses it to publish its address and the job token.
#pragma once

#include <string>

#include "argosy/base/status.h"
#include "argosy/cluster/job_place.h"

namespace argosy {

// Broadcasts the `value` of task 0 (at most 900 bytes, no spaces) to all tasks. Every task calls it once; it waits for
// all tasks. UNAVAILABLE "ARG-CLUSTER-049": the launcher does not answer as it should.
Result<std::string> share_from_task_0(const JobPlace& place, const std::string& value);

// The same by PMI-1: lines of text on the descriptor PMI_FD. Exposed for tests, with any descriptor.
Result<std::string> share_by_pmi1(int descriptor, int rank, const std::string& value);

}  // namespace argosy
