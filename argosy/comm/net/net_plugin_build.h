// The build that a plug-in and its library must share. Internal to comm/: each side compiles it for itself.
#pragma once

#include <string>
#include <utility>

namespace argosy {

// `version`: ARGOSY_PLUGIN_VERSION as the side that asks was compiled with it.
inline std::string net_plugin_build_text(std::string version) { return std::move(version) + " net-1"; }

}  // namespace argosy
