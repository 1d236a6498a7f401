// Slots as kernels see them (card_slots.h). Read by nvcc and the host's compiler.
#pragma once

#include "argosy/device/cuda/numbers.h"

namespace argosy::cuda {

struct CardSlot {
  i64 start;
  i32 next, first;
};

}  // namespace argosy::cuda
