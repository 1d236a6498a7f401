// Hosts and their slots, as launchers write them: "gpu-a:4,gpu-b:4", and host files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "argosy/base/status.h"

namespace argosy {

struct HostSlots {
  std::string host;
  int slots = 0;  // 0: not given
  bool operator==(const HostSlots&) const = default;
};

// Returns the host of ssh's form "user@gpu-a".
std::string without_user(const std::string& host);

// "a:2,b:2", "a,b". INVALID_ARGUMENT "ARG-CLUSTER-050": malformed, or a host twice.
Result<std::vector<HostSlots>> parse_hosts(std::string_view text);
// One host per line: "a slots=2" (horovodrun, Open MPI), "a:2", "a"; "#" begins a comment. The same errors, with the
// line.
Result<std::vector<HostSlots>> parse_host_file(std::string_view text);

}  // namespace argosy
