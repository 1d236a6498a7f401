// The build text that a plug-in and the library compare. Internal to argosy/comm; each side compiles this function
// itself.
#pragma once

#include <string>
#include <utility>

namespace argosy {

// `version`: the ARGOSY_PLUGIN_VERSION that the calling side was compiled with.
inline std::string net_plugin_build_text(std::string version) { return std::move(version) + " net-3"; }

}  // namespace argosy
