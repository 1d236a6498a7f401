// Which loop frame every item of a dynamic step belongs to.
#pragma once

#include "argosy/runtime/step/step.h"

namespace argosy {

// Fills in Step::frames, frame_of, local_of and base_of from successors. INVALID_ARGUMENT when an item's inputs come
// from different frames (a value used in a loop without an Enter).
Status find_frames(Step& step);

}  // namespace argosy
