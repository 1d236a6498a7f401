// Cells of recurrent networks, and whole sequences of them, as one op each.
#pragma once

#include "argosy/graph/graph.h"

namespace argosy {

// w is [inputs + units, 4 units], its columns the input gate, the cell's input, the forget and the output gate; b is
// [4 units]. Without peepholes the three peephole weights, [units] each, are not looked at.
struct LstmWeights {
  Value w, b, peephole_i, peephole_f, peephole_o;  // [in + units, 4 * units], [4 * units], [units] each
};
// Of a cell.
struct LstmOptions {
  float forget_bias = 1;      // added to the forget gate before its sigmoid
  float cell_clip = 3;        // cells are kept within ± this; 0 or below: they are not
  bool use_peephole = false;  // with weights from the cell to its gates
};
// What a cell carries from step to step.
struct LstmState {
  Value cell, output;  // [batch, units]; of a sequence: [time, batch, units]
};
// One step: x [batch, in], and the state before.
LstmState lstm_block_cell(Value x, const LstmState& before, const LstmWeights& weights,
                          const LstmOptions& options = {});
// x is [time, batch, inputs]; steps from seq_len_max (an int64 scalar) on give zeros.
LstmState block_lstm(Value seq_len_max, Value x, const LstmState& before, const LstmWeights& weights,
                     const LstmOptions& options = {});
// w_ru is [inputs + units, 2 units], reset and update gate; w_c [inputs + units, units].
Value gru_block_cell(Value x, Value before, Value w_ru, Value w_c, Value b_ru, Value b_c);

}  // namespace argosy
