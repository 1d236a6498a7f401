// The arithmetic between the products of recurrent cells (rnn_cuda.cc): the formulas of rnn_cells_cpu.cc and rnn_cpu.cc.
#include "argosy/device/cuda/kernels/kernel_source.h"
#include "argosy/ops/rnn/rnn_cuda.h"

namespace argosy::cuda {

ARGOSY_DEVICE f32 sigmoid(f32 x) { return 1.0f / (1.0f + ::exp(-x)); }

ARGOSY_KERNEL(lstm_step, LstmCell s, const f32* gates, LstmWeights w, const f32* cell_before, LstmStates to) {
  for (i64 at = first_index(); at < s.batch * s.units; at += index_step()) {
    const i64 row = at / s.units, k = at % s.units, base = row * 4 * s.units;
    const i64 at_i = s.i * s.units + k, at_cell = s.cell * s.units + k, at_f = s.f * s.units + k,
              at_o = s.o * s.units + k;
    const f32 before = cell_before[at];
    const f32 i = sigmoid(gates[base + at_i] + w.b[at_i] + (s.peephole ? before * w.peephole_i[k] : 0.0f));
    const f32 f =
        sigmoid(gates[base + at_f] + w.b[at_f] + s.forget_bias + (s.peephole ? before * w.peephole_f[k] : 0.0f));
    const f32 input = ::tanh(gates[base + at_cell] + w.b[at_cell]);
    f32 cell = input * i + before * f;
    if (s.cell_clip > 0.0f) cell = cell < -s.cell_clip ? -s.cell_clip : cell > s.cell_clip ? s.cell_clip : cell;
    const f32 o = sigmoid(gates[base + at_o] + w.b[at_o] + (s.peephole ? cell * w.peephole_o[k] : 0.0f));
    const f32 output = ::tanh(cell);
    to.i[at] = i;
    to.cell[at] = cell;
    to.f[at] = f;
    to.o[at] = o;
    to.cell_input[at] = input;
    to.cell_output[at] = output;
    to.output[at] = o * output;
  }
}

// The gates' gradients of one step, and what flows back into the cell before; d_cell_before may be more_cell, which (as
// more_output) is what the step after sent back, or null.
ARGOSY_KERNEL(lstm_step_back, LstmCell s, LstmWeights w, const f32* cell_before, LstmStates of, const f32* d_cells,
              const f32* d_outputs, const f32* more_cell, const f32* more_output, f32* d_gates, f32* d_cell_before) {
  for (i64 at = first_index(); at < s.batch * s.units; at += index_step()) {
    const i64 row = at / s.units, k = at % s.units, base = row * 4 * s.units;
    const f32 i = of.i[at], f = of.f[at], o = of.o[at], ci = of.cell_input[at], co = of.cell_output[at];
    const f32 d_output = d_outputs[at] + (more_output != nullptr ? more_output[at] : 0.0f);
    const f32 d_o = o * (1.0f - o) * d_output * co;
    f32 d_cell = (1.0f - co * co) * d_output * o + d_cells[at] + (more_cell != nullptr ? more_cell[at] : 0.0f);
    if (s.peephole) d_cell += d_o * w.peephole_o[k];
    const f32 d_f = f * (1.0f - f) * d_cell * cell_before[at];
    const f32 d_i = i * (1.0f - i) * d_cell * ci;
    d_gates[base + s.i * s.units + k] = d_i;
    d_gates[base + s.cell * s.units + k] = (1.0f - ci * ci) * d_cell * i;
    d_gates[base + s.f * s.units + k] = d_f;
    d_gates[base + s.o * s.units + k] = d_o;
    f32 before = d_cell * f;
    if (s.peephole) before += d_i * w.peephole_i[k] + d_f * w.peephole_f[k];
    d_cell_before[at] = before;
  }
}

// Sums over `rows` rows of all steps, a thread a unit. Row 0 … batch-1 have the cell that came in before them.
ARGOSY_KERNEL(lstm_peepholes, LstmCell s, i64 rows, const f32* d_gates, const f32* cell_first, const f32* cells,
              f32* d_i, f32* d_f, f32* d_o) {
  for (i64 k = first_index(); k < s.units; k += index_step()) {
    f32 sums[3] = {};
    for (i64 row = 0; row < rows; ++row) {
      const f32* const gates = d_gates + row * 4 * s.units + k;
      const f32 before = row < s.batch ? cell_first[row * s.units + k] : cells[(row - s.batch) * s.units + k];
      sums[0] += gates[s.i * s.units] * before;
      sums[1] += gates[s.f * s.units] * before;
      sums[2] += gates[s.o * s.units] * cells[row * s.units + k];
    }
    d_i[k] = sums[0];
    d_f[k] = sums[1];
    d_o[k] = sums[2];
  }
}

// --- GRU -------------------------------------------------------------------------------------------------------------

// Reset and update gates, and the state as far as it is let through.
ARGOSY_KERNEL(gru_gates, i64 batch, i64 units, const f32* gates, const f32* b, const f32* h, f32* r, f32* u,
              f32* reset) {
  for (i64 at = first_index(); at < batch * units; at += index_step()) {
    const i64 row = at / units, k = at % units;
    r[at] = sigmoid(gates[row * 2 * units + k] + b[k]);
    u[at] = sigmoid(gates[(row * 2 + 1) * units + k] + b[units + k]);
    reset[at] = h[at] * r[at];
  }
}
ARGOSY_KERNEL(gru_state, i64 batch, i64 units, const f32* b, const f32* h, const f32* u, f32* cell, f32* to) {
  for (i64 at = first_index(); at < batch * units; at += index_step()) {
    cell[at] = ::tanh(cell[at] + b[at % units]);
    to[at] = u[at] * (h[at] - cell[at]) + cell[at];
  }
}
ARGOSY_KERNEL(gru_cell_back, i64 n, const f32* d_h, const f32* u, const f32* cell, f32* to) {
  for (i64 at = first_index(); at < n; at += index_step()) {
    to[at] = d_h[at] * (1.0f - u[at]) * (1.0f - cell[at] * cell[at]);
  }
}
// by_cell, by_gates: [batch, inputs + units], what flows back through the products.
ARGOSY_KERNEL(gru_gates_back, i64 batch, i64 inputs, i64 units, const f32* by_cell, const f32* h, const f32* r,
              const f32* u, const f32* cell, const f32* d_h, f32* gates) {
  for (i64 at = first_index(); at < batch * units; at += index_step()) {
    const i64 row = at / units, k = at % units;
    const f32 back = by_cell[row * (inputs + units) + inputs + k];
    gates[row * 2 * units + k] = back * h[at] * r[at] * (1.0f - r[at]);
    gates[(row * 2 + 1) * units + k] = d_h[at] * (h[at] - cell[at]) * u[at] * (1.0f - u[at]);
  }
}
ARGOSY_KERNEL(gru_back, i64 batch, i64 inputs, i64 units, const f32* by_cell, const f32* by_gates, const f32* r,
              const f32* u, const f32* d_h, f32* d_x, f32* d_before) {
  const i64 width = inputs + units;
  for (i64 i = first_index(); i < batch * width; i += index_step()) {
    const i64 row = i / width, column = i % width;
    if (column < inputs) {
      d_x[row * inputs + column] = by_cell[i] + by_gates[i];
    } else {
      const i64 at = row * units + column - inputs;
      d_before[at] = by_gates[i] + by_cell[i] * r[at] + d_h[at] * u[at];
    }
  }
}

}  // namespace argosy::cuda
