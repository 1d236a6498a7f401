// The arithmetic of one LSTM step on the CPU, in float32. Private to this folder.
#pragma once

#include <cmath>
#include <vector>

#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/matmul/gemm.h"

namespace argosy::rnn {

// A kernel's inputs and outputs as float32. float16 tensors are converted: inputs by start(), outputs by finish().
class FloatCall {
 public:
  static Result<FloatCall> start(KernelContext& c, int first);
  const float* input(int i) const { return inputs_[static_cast<std::size_t>(i)].raw_as<float>(); }
  const Shape& shape(int i) const { return inputs_[static_cast<std::size_t>(i)].shape(); }
  Result<float*> output(int i, const Shape& shape);
  Status finish();

 private:
  explicit FloatCall(KernelContext& c) : c_(c) {}
  KernelContext& c_;
  std::vector<Tensor> inputs_;
  std::vector<std::pair<Tensor, Tensor>> narrow_;
};

struct Sizes {
  std::int64_t batch = 0, inputs = 0, units = 0;
  std::int64_t cells() const { return batch * units; }
};

inline float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

// The order of the gates in the columns of w, each `units` columns wide. `cell` is the cell's input.
struct GateOrder {
  int i, cell, f, o;
};
inline constexpr GateOrder kIcfo{0, 1, 2, 3};
inline constexpr GateOrder kIfco{0, 2, 1, 3};

// The inputs and outputs of one LSTM step; x is [batch, inputs], the others [batch, units].
struct LstmStep {
  const float *x, *cell_before, *output_before;
  float *i, *cell, *f, *o, *cell_input, *cell_output, *output;
};
struct LstmWeightsView {
  const float *w, *peephole_i, *peephole_f, *peephole_o, *b;
  float forget_bias = 0, cell_clip = 0;
  bool use_peephole = false;
  GateOrder order = kIcfo;
};
// The gradient of one step. d_gates are gradients of the gates before their nonlinearities, [batch, 4 units] in the
// order of GateOrder. The gradients of the peepholes are added to.
struct LstmBackStep {
  const float *cell_before, *i, *cell, *f, *o, *cell_input, *cell_output;
  const float *d_cell, *d_output;
  float *d_gates, *d_cell_before, *d_peephole_i, *d_peephole_f, *d_peephole_o;
};

// One call of an LSTM kernel: owns the buffers between the matrix products.
class Lstm {
 public:
  Lstm(KernelContext& c, MatMulPrograms& programs, const Sizes& sizes);
  Status forward(const LstmWeightsView& weights, const LstmStep& step);
  void backward(const LstmWeightsView& weights, const LstmBackStep& step) const;
  // [x, output_before], concatenated along the columns: the operand of forward()'s product.
  const float* joined(const float* x, const float* output_before);

 private:
  KernelContext& c_;
  MatMulPrograms& programs_;
  const Sizes n_;
  std::vector<float> joined_, gates_;
};

Status product(KernelContext& c, MatMulPrograms& programs, const Gemm& g, const float* a, const float* b, float* out);

}  // namespace argosy::rnn
