// The address of this host inside networks that were named: what task 0 listens at when only its launcher's exchange tells
// the others.
#pragma once

#include <string>
#include <vector>

#include "argosy/base/status.h"

namespace argosy {

// The first interface's address that is in one of the networks. FAILED_PRECONDITION "ARG-CLUSTER-042": none is.
Result<std::string> own_address_in(const std::vector<std::string>& networks);

}  // namespace argosy
