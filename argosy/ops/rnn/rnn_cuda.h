// Parameters of the CUDA kernels of recurrent cells. Included by device code and host code.
#pragma once

#include "argosy/device/cuda/kernels/numbers.h"

namespace argosy::cuda {

// A cell's sizes and options. i, cell, f, o: the gates' order in the columns of the weights, each `units` columns wide.
struct LstmCell {
  i64 batch, units;
  int i, cell, f, o;
  int peephole;
  f32 forget_bias, cell_clip;
};
struct LstmWeights {
  const f32 *b, *peephole_i, *peephole_f, *peephole_o;
};
// The values of one step, each [batch, units].
struct LstmStates {
  f32 *i, *cell, *f, *o, *cell_input, *cell_output, *output;
};

}  // namespace argosy::cuda
