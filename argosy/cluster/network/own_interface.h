// Addresses inside networks that were named: this host's own, and those of a host that others know by its name.
#pragma once

#include <string>
#include <vector>

#include "argosy/base/status.h"

namespace argosy {

// The first interface's address that is in one of the networks. PERMISSION_DENIED "ARG-CLUSTER-042": none is.
Result<std::string> own_address_in(const std::vector<std::string>& networks);

// The addresses of a host in the order in which to try them: those in the named networks first. Systems often give a host's
// own name a loopback address (127.0.1.1 in /etc/hosts), where no other host reaches it. Then own_address_in() comes first,
// if there is one. As resolve() otherwise.
Result<std::vector<std::string>> addresses_to_try(const std::string& host, const std::vector<std::string>& networks);

// The same of what resolve() gave for a host that ARGOSY_HOST_MAP does not name.
std::vector<std::string> order_addresses(const std::string& host, std::vector<std::string> addresses,
                                         const std::vector<std::string>& networks);

}  // namespace argosy
