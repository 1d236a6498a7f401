// Scratch memory that a node's kernel takes while it runs, told by whoever decides how it runs, so that forecasts know.
#pragma once

namespace argosy {

// On a node, list(int): bytes in any case, and bytes for each thread of its device.
inline constexpr const char* kScratchAttr = "_scratch_bytes";

}  // namespace argosy
