// Slurm's compressed lists: of hosts, "gpu[001-003,7],login", and of tasks per host, "2(x3),1".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "argosy/base/status.h"

namespace argosy {

// The hosts in order, as `scontrol show hostnames` prints them. INVALID_ARGUMENT "ARG-CLUSTER-030": malformed, more
// than 65,536 hosts, or a name of more than 253 bytes.
Result<std::vector<std::string>> expand_host_list(std::string_view text);

// "2(x3),1" → 2 2 2 1. The same error.
Result<std::vector<int>> expand_counts(std::string_view text);

}  // namespace argosy
