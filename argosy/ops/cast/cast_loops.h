// The vectorised casts. Private to this folder.
#pragma once

#include "argosy/ops/elementwise/elementwise_kernels.h"

namespace argosy::casting {

struct CastRow {
  DType from, to;
  UnarySpan span;
};
std::span<const CastRow> cast_rows();  // best instruction set of this processor chosen

}  // namespace argosy::casting
