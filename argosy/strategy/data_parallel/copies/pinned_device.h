// Which device a node was pinned to by hand.
#pragma once

#include <string>

#include "argosy/device/name.h"

namespace argosy {

// The device type and number a node was pinned to by hand, if it was.
DeviceName pinned(const std::string& device);

}  // namespace argosy
