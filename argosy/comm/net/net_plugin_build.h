// The build that a plug-in and its library must share. Internal to comm/: each side compiles it for itself.
#pragma once

#include <string>

namespace argosy {

inline std::string net_plugin_build_text() { return std::string(ARGOSY_PLUGIN_VERSION) + " net-1"; }

}  // namespace argosy
