#include <algorithm>

#include "argosy/op/kernel/workspace.h"
#include "argosy/ops/rnn/rnn_cells.h"

namespace argosy {

namespace {

using rnn::FloatCall;
using rnn::Lstm;
using rnn::LstmWeightsView;
using rnn::Sizes;

Status misfit(const std::string& op, int i, const Shape& shape, const Shape& wanted) {
  return invalid_argument(op, ": input ", i, " has shape ", shape, ", not ", wanted);
}

class LstmKernel final : public Kernel {
 public:
  explicit LstmKernel(const KernelInit& init) : op_(init.op.name) {
    weights_.forget_bias = init.attrs.get_or("forget_bias", 0.0f);
    weights_.cell_clip = init.attrs.get_or("cell_clip", 0.0f);
    weights_.use_peephole = init.attrs.get_bool("use_peephole");
    weights_.order = op_.ends_with("V2") ? rnn::kIfco : rnn::kIcfo;
  }
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<LstmKernel>(init));
  }

  Status run(KernelContext& c) override {
    const bool sequence = op_.starts_with("Block");
    const int first = sequence ? 1 : 0;
    ARGOSY_ASSIGN_OR_RETURN(FloatCall call, FloatCall::start(c, first));
    ARGOSY_ASSIGN_OR_RETURN(const Sizes n, sizes(call, first));
    LstmWeightsView weights = weights_;
    weights.w = call.input(first + 3);
    weights.peephole_i = call.input(first + 4);
    weights.peephole_f = call.input(first + 5);
    weights.peephole_o = call.input(first + 6);
    weights.b = call.input(first + 7);
    std::int64_t time = 1, steps = 1;
    if (sequence) {
      time = call.shape(1)[0];
      if (c.input(0).shape().rank() != 0) {
        return invalid_argument(op_, ": seq_len_max must be a scalar, not of shape ", c.input(0).shape());
      }
      steps = *c.input(0).data<std::int64_t>();
      if (steps < 0 || steps > time) {
        return invalid_argument(op_, ": seq_len_max is ", steps, ", but x has ", time, " steps");
      }
    }
    const bool backwards = op_.find("Grad") != std::string::npos;
    if (!backwards) {
      ARGOSY_RETURN_IF_ERROR(forward(c, call, n, weights, sequence, time, steps));
    } else {
      ARGOSY_RETURN_IF_ERROR(check_gates(call, first, n, sequence, time));
      ARGOSY_RETURN_IF_ERROR(sequence ? backward_sequence(c, call, n, weights, time, steps)
                                      : backward_cell(c, call, n, weights));
    }
    return call.finish();
  }

 private:
  Result<Sizes> sizes(const FloatCall& call, int first) const {
    const Shape& x = call.shape(first);
    const Shape& cell = call.shape(first + 1);
    const int rank = first + 2;
    if (x.rank() != rank || cell.rank() != 2) {
      return invalid_argument(op_, ": x must have rank ", rank, " and cs_prev rank 2, not shapes ", x, " and ", cell);
    }
    Sizes n{x[rank - 2], x.back(), cell[1]};
    const std::int64_t all[] = {n.batch + 1, n.inputs + n.units, n.units, 4};
    ARGOSY_RETURN_IF_ERROR(Shape::make(all).status());
    const Shape state{n.batch, n.units}, peephole{n.units};
    const Shape wanted[] = {x,        state,    state,    {n.inputs + n.units, 4 * n.units},
                            peephole, peephole, peephole, {4 * n.units}};
    for (int i = 1; i < 8; ++i) {
      if (!(call.shape(first + i) == wanted[i])) return misfit(op_, first + i, call.shape(first + i), wanted[i]);
    }
    return n;
  }
  Status check_gates(const FloatCall& call, int first, const Sizes& n, bool sequence, std::int64_t time) const {
    const Shape wanted = sequence ? Shape{time, n.batch, n.units} : Shape{n.batch, n.units};
    for (int i = first + 8; i < first + (sequence ? 17 : 16); ++i) {
      if (!(call.shape(i) == wanted)) return misfit(op_, i, call.shape(i), wanted);
    }
    return ok_status();
  }

  Status forward(KernelContext& c, FloatCall& call, const Sizes& n, const LstmWeightsView& weights, bool sequence,
                 std::int64_t time, std::int64_t steps) {
    const int first = sequence ? 1 : 0;
    const Shape shape = sequence ? Shape{time, n.batch, n.units} : Shape{n.batch, n.units};
    float* out[7];
    for (int i = 0; i < 7; ++i) {
      ARGOSY_ASSIGN_OR_RETURN(out[i], call.output(i, shape));
      std::fill(out[i] + steps * n.cells(), out[i] + time * n.cells(), 0.0f);
    }
    Lstm lstm(c, programs_, n);
    for (std::int64_t t = 0; t < steps; ++t) {
      const std::int64_t at = t * n.cells();
      const float* const cell = t == 0 ? call.input(first + 1) : out[1] + at - n.cells();
      const float* const output = t == 0 ? call.input(first + 2) : out[6] + at - n.cells();
      ARGOSY_RETURN_IF_ERROR(
          lstm.forward(weights, {call.input(first) + t * n.batch * n.inputs, cell, output, out[0] + at, out[1] + at,
                                 out[2] + at, out[3] + at, out[4] + at, out[5] + at, out[6] + at}));
    }
    return ok_status();
  }

  Status backward_cell(KernelContext& c, FloatCall& call, const Sizes& n, const LstmWeightsView& weights) {
    float* out[5];
    const Shape shapes[] = {{n.batch, n.units}, {n.batch, 4 * n.units}, {n.units}, {n.units}, {n.units}};
    for (int i = 0; i < 5; ++i) {
      ARGOSY_ASSIGN_OR_RETURN(out[i], call.output(i, shapes[i]));
      std::fill_n(out[i], shapes[i].elements(), 0.0f);
    }
    const Lstm lstm(c, programs_, n);
    lstm.backward(weights, {call.input(1), call.input(8), call.input(9), call.input(10), call.input(11), call.input(12),
                            call.input(13), call.input(14), call.input(15), out[1], out[0], out[2], out[3], out[4]});
    return ok_status();
  }

  Status backward_sequence(KernelContext& c, FloatCall& call, const Sizes& n, const LstmWeightsView& weights,
                           std::int64_t time, std::int64_t steps) {
    const std::int64_t width = n.inputs + n.units;
    const Shape state{n.batch, n.units}, peephole{n.units};
    const Shape shapes[] = {
        {time, n.batch, n.inputs}, state, state, {width, 4 * n.units}, peephole, peephole, peephole, {4 * n.units}};
    float* out[8];
    for (int i = 0; i < 8; ++i) {
      ARGOSY_ASSIGN_OR_RETURN(out[i], call.output(i, shapes[i]));
      std::fill_n(out[i], shapes[i].elements(), 0.0f);
    }
    Lstm lstm(c, programs_, n);
    const auto size = [](std::int64_t elements) { return static_cast<std::size_t>(elements); };
    std::vector<float> d_gates(size(4 * n.cells())), d_cell(size(n.cells())), d_output(size(n.cells()));
    std::vector<float> d_joined(size(n.batch * width)), d_w(size(width * 4 * n.units));
    float *const d_cell_before = out[1], *const d_output_before = out[2];
    for (std::int64_t t = steps - 1; t >= 0; --t) {
      const std::int64_t at = t * n.cells();
      const float* const cell_before = t == 0 ? call.input(2) : call.input(10) + at - n.cells();
      const float* const output_before = t == 0 ? call.input(3) : call.input(15) + at - n.cells();
      for (std::int64_t k = 0; k < n.cells(); ++k) {
        d_cell[size(k)] = call.input(16)[at + k] + d_cell_before[k];
        d_output[size(k)] = call.input(17)[at + k] + d_output_before[k];
      }
      lstm.backward(weights, {cell_before, call.input(9) + at, call.input(10) + at, call.input(11) + at,
                              call.input(12) + at, call.input(13) + at, call.input(14) + at, d_cell.data(),
                              d_output.data(), d_gates.data(), d_cell_before, out[4], out[5], out[6]});
      const Gemm back{.transpose_b = true, .m = n.batch, .n = width, .k = 4 * n.units};
      ARGOSY_RETURN_IF_ERROR(rnn::product(c, programs_, back, d_gates.data(), weights.w, d_joined.data()));
      for (std::int64_t row = 0; row < n.batch; ++row) {
        const float* const from = d_joined.data() + row * width;
        std::copy_n(from, n.inputs, out[0] + (t * n.batch + row) * n.inputs);
        std::copy_n(from + n.inputs, n.units, d_output_before + row * n.units);
      }
      const float* const joined = lstm.joined(call.input(1) + t * n.batch * n.inputs, output_before);
      const Gemm sums{.transpose_a = true, .m = width, .n = 4 * n.units, .k = n.batch};
      ARGOSY_RETURN_IF_ERROR(rnn::product(c, back_programs_, sums, joined, d_gates.data(), d_w.data()));
      for (std::int64_t k = 0; k < width * 4 * n.units; ++k) out[3][k] += d_w[size(k)];
      for (std::int64_t k = 0; k < 4 * n.cells(); ++k) out[7][k % (4 * n.units)] += d_gates[size(k)];
    }
    return ok_status();
  }

  const std::string op_;
  LstmWeightsView weights_{};
  MatMulPrograms programs_{onednn::make_matmul}, back_programs_{onednn::make_matmul};
};

}  // namespace

void add_lstm(KernelRegistry& kernels) {
  for (const char* op :
       {"LSTMBlockCell", "LSTMBlockCellGrad", "BlockLSTM", "BlockLSTMV2", "BlockLSTMGrad", "BlockLSTMGradV2"}) {
    kernels.add(op, "cpu", with_workspace<LstmKernel::make, known_when_run>);
  }
}

}  // namespace argosy
