// Cells of recurrent networks, and whole sequences, as single ops.
#pragma once

#include "argosy/graph/graph.h"

namespace argosy {

// The columns of w are, in this order, the input gate, the cell's input, the forget gate and the output gate. The
// peephole weights are used only with use_peephole.
struct LstmWeights {
  Value w, b, peephole_i, peephole_f, peephole_o;  // [in + units, 4 * units], [4 * units], [units] each
};
// Options of LSTM cells.
struct LstmOptions {
  float forget_bias = 1;      // added to the forget gate before its sigmoid
  float cell_clip = 3;        // cell states are clipped to [-cell_clip, cell_clip]; 0 or below: no clipping
  bool use_peephole = false;  // add weights from the cell to its gates
};
// The state that a cell carries from step to step.
struct LstmState {
  Value cell, output;  // [batch, units]; of a sequence: [time, batch, units]
};
// One step: x [batch, in], and the state before.
LstmState lstm_block_cell(Value x, const LstmState& before, const LstmWeights& weights,
                          const LstmOptions& options = {});
// A sequence: x is [time, batch, inputs]. Steps from seq_len_max (an int64 scalar) on return zeros.
LstmState block_lstm(Value seq_len_max, Value x, const LstmState& before, const LstmWeights& weights,
                     const LstmOptions& options = {});
// One step of a GRU. w_ru is [inputs + units, 2 units], for the reset and the update gate; w_c [inputs + units, units].
Value gru_block_cell(Value x, Value before, Value w_ru, Value w_c, Value b_ru, Value b_c);

}  // namespace argosy
