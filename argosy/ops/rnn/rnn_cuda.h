// Recurrent cells as kernels and the host see them. Read by nvcc and the host's compiler.
#pragma once

#include "argosy/device/cuda/kernels/numbers.h"

namespace argosy::cuda {

// The gates' positions among the columns of the weights, in units.
struct LstmCell {
  i64 batch, units;
  int i, cell, f, o;
  int peephole;
  f32 forget_bias, cell_clip;
};
struct LstmWeights {
  const f32 *b, *peephole_i, *peephole_f, *peephole_o;
};
// Of one step, each [batch, units].
struct LstmStates {
  f32 *i, *cell, *f, *o, *cell_input, *cell_output, *output;
};

}  // namespace argosy::cuda
