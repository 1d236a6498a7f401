// Scratch memory that a node's kernel takes while it runs. The pass that chooses the algorithm writes it to the node, and
// forecasts of memory read it.
#pragma once

namespace argosy {

// On a node, list(int): bytes in any case, and bytes for each thread of its device.
inline constexpr const char* kScratchAttr = "_scratch_bytes";

}  // namespace argosy
