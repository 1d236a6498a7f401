// Which loop frame every instruction of a step that needs dataflow rules belongs to.
#pragma once

#include "argosy/runtime/step/step.h"

namespace argosy {

// Fills in Step::frames, frame_of, local_of and base_of from successors. INVALID_ARGUMENT when an instruction's inputs come
// from different frames (a value used in a loop without an Enter).
Status find_frames(Step& step);

}  // namespace argosy
