// Recurrent cells on a GPU, in float32: matrix products by gemm_on_gpu(), the arithmetic between them by rnn_cuda.cu.
#include "argosy/ops/rnn/rnn_cuda.h"

#include "argosy/ops/layout/strided/gpu_copy_engine.h"
#include "argosy/ops/matmul/gpu_gemm.h"
#include "argosy/ops/reduction/reduce_gpu.h"

namespace argosy {

namespace {

using cuda::LstmCell;
using cuda::LstmStates;
using cuda::LstmWeights;

constexpr const char* kModule = "rnn";
constexpr DType kFloat = DType::kFloat32;

struct Sizes {
  std::int64_t batch = 0, inputs = 0, units = 0;
  std::int64_t cells() const { return batch * units; }
  std::int64_t width() const { return inputs + units; }
};

Result<Buffer> floats(KernelContext& c, std::int64_t n) {
  return c.scratch(static_cast<std::size_t>(n) * sizeof(float));
}
float* data(const Buffer& b) { return reinterpret_cast<float*>(b.data()); }
Status zero(KernelContext& c, float* at, std::int64_t n) {
  if (n == 0) return ok_status();
  return cuda::device_of(*c.device()).fill(at, 4, 0, static_cast<std::size_t>(n));
}
Status multiply(KernelContext& c, const Gemm& g, const float* a, const float* b, float* out) {
  if (g.m == 0 || g.n == 0) return ok_status();
  return cuda::gemm_on_gpu(c, kFloat, g, {}, a, b, nullptr, {}, out);
}
// Columns of one matrix to those of another, of other widths.
Status columns(KernelContext& c, std::int64_t rows, std::int64_t n, const float* from, std::int64_t from_width,
               float* to, std::int64_t to_width) {
  Region region;
  region.add(rows, to_width, from_width);
  region.add(n, 1, 1);
  cuda::GpuCopyEngine copy_engine(c);
  if (rows > 0 && n > 0) copy_engine.move(to, from, sizeof(float), region);
  return copy_engine.status();
}
Result<float*> output(KernelContext& c, int i, const Shape& shape) {
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(i, shape));
  return y->raw_as<float>();
}
Status misfit(const std::string& op, int i, const Shape& shape, const Shape& wanted) {
  return invalid_argument(op, ": input ", i, " has shape ", shape, ", not ", wanted);
}

class LstmKernel final : public Kernel {
 public:
  explicit LstmKernel(const KernelInit& init)
      : op_(init.op.name),
        sequence_(op_.starts_with("Block")),
        first_(sequence_ ? 1 : 0),
        capturable_(cuda::reads_constants_only(init)) {
    const bool turned = op_.ends_with("V2");  // gates i, f, cell, o instead of i, cell, f, o
    cell_ = {.batch = 0,
             .units = 0,
             .i = 0,
             .cell = turned ? 2 : 1,
             .f = turned ? 1 : 2,
             .o = 3,
             .peephole = init.attrs.get_bool("use_peephole") ? 1 : 0,
             .forget_bias = init.attrs.get_or("forget_bias", 0.0f),
             .cell_clip = init.attrs.get_or("cell_clip", 0.0f)};
  }
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<LstmKernel>(init));
  }
  bool capturable() const override { return capturable_; }

  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const Sizes n, sizes(c));
    std::int64_t time = 1, steps = 1;
    if (sequence_) {
      time = c.input(1).shape()[0];
      if (c.input(0).shape().rank() != 0) {
        return invalid_argument(op_, ": seq_len_max must be a scalar, not of shape ", c.input(0).shape());
      }
      steps = *c.input(0).data<std::int64_t>();
      if (steps < 0 || steps > time) {
        return invalid_argument(op_, ": seq_len_max is ", steps, ", but x has ", time, " steps");
      }
    }
    LstmCell cell = cell_;
    cell.batch = n.batch;
    cell.units = n.units;
    if (op_.find("Grad") == op_.npos) return forward(c, n, cell, time, steps);
    const Shape wanted = sequence_ ? Shape{time, n.batch, n.units} : Shape{n.batch, n.units};
    for (int i = first_ + 8; i < c.num_inputs(); ++i) {
      if (!(c.input(i).shape() == wanted)) return misfit(op_, i, c.input(i).shape(), wanted);
    }
    return sequence_ ? backward(c, n, cell, time, steps) : backward_cell(c, n, cell);
  }

 private:
  Result<Sizes> sizes(const KernelContext& c) const {
    const Shape &x = c.input(first_).shape(), &cell = c.input(first_ + 1).shape();
    const int rank = first_ + 2;
    if (x.rank() != rank || cell.rank() != 2) {
      return invalid_argument(op_, ": x must have rank ", rank, " and cs_prev rank 2, not shapes ", x, " and ", cell);
    }
    const Sizes n{x[rank - 2], x.back(), cell[1]};
    ARGOSY_RETURN_IF_ERROR(Shape::make(std::array{n.batch + 1, n.width(), n.units, std::int64_t{4}}).status());
    const Shape state{n.batch, n.units}, peephole{n.units};
    const Shape wanted[] = {x, state, state, {n.width(), 4 * n.units}, peephole, peephole, peephole, {4 * n.units}};
    for (int i = 1; i < 8; ++i) {
      if (!(c.input(first_ + i).shape() == wanted[i])) {
        return misfit(op_, first_ + i, c.input(first_ + i).shape(), wanted[i]);
      }
    }
    return n;
  }
  const float* input(const KernelContext& c, int i) const { return c.input(first_ + i).raw_as<float>(); }
  LstmWeights weights(const KernelContext& c) const {
    return {.b = input(c, 7), .peephole_i = input(c, 4), .peephole_f = input(c, 5), .peephole_o = input(c, 6)};
  }

  Status forward(KernelContext& c, const Sizes& n, const LstmCell& cell, std::int64_t time, std::int64_t steps) const {
    const Shape shape = sequence_ ? Shape{time, n.batch, n.units} : Shape{n.batch, n.units};
    float* out[7];
    for (int i = 0; i < 7; ++i) {
      ARGOSY_ASSIGN_OR_RETURN(out[i], output(c, i, shape));
      ARGOSY_RETURN_IF_ERROR(zero(c, out[i] + steps * n.cells(), (time - steps) * n.cells()));
    }
    if (n.cells() == 0) return ok_status();
    ARGOSY_ASSIGN_OR_RETURN(const Buffer joined, floats(c, n.batch * n.width()));
    ARGOSY_ASSIGN_OR_RETURN(const Buffer gates, floats(c, 4 * n.cells()));
    for (std::int64_t t = 0; t < steps; ++t) {
      const std::int64_t at = t * n.cells();
      const float* const cell_before = t == 0 ? input(c, 1) : out[1] + at - n.cells();
      const float* const output_before = t == 0 ? input(c, 2) : out[6] + at - n.cells();
      ARGOSY_RETURN_IF_ERROR(
          columns(c, n.batch, n.inputs, input(c, 0) + t * n.batch * n.inputs, n.inputs, data(joined), n.width()));
      ARGOSY_RETURN_IF_ERROR(columns(c, n.batch, n.units, output_before, n.units, data(joined) + n.inputs, n.width()));
      ARGOSY_RETURN_IF_ERROR(
          multiply(c, {.m = n.batch, .n = 4 * n.units, .k = n.width()}, data(joined), input(c, 3), data(gates)));
      const LstmStates to{out[0] + at, out[1] + at, out[2] + at, out[3] + at, out[4] + at, out[5] + at, out[6] + at};
      ARGOSY_RETURN_IF_ERROR(cuda::launch(c, {kModule, "lstm_step"}, cuda::grid_for(n.cells()), cell, gates.data(),
                                          weights(c), cell_before, to));
    }
    return ok_status();
  }

  // Gates and states of a step, of the inputs from `i` on.
  LstmStates states(const KernelContext& c, int i, std::int64_t at) const {
    const auto of = [&](int k) { return const_cast<float*>(input(c, i + k)) + at; };
    return {of(0), of(1), of(2), of(3), of(4), of(5), nullptr};
  }
  Status back_one(KernelContext& c, const LstmCell& cell, const float* cell_before, const LstmStates& of,
                  const float* d_cell, const float* d_output, const float* more_cell, const float* more_output,
                  float* d_gates, float* d_cell_before) const {
    return cuda::launch(c, {kModule, "lstm_step_back"}, cuda::grid_for(cell.batch * cell.units), cell, weights(c),
                        cell_before, of, d_cell, d_output, more_cell, more_output, d_gates, d_cell_before);
  }
  Status peepholes(KernelContext& c, const LstmCell& cell, std::int64_t rows, const float* d_gates,
                   const float* cell_first, const float* cells, float* const* to) const {
    if (cell.peephole == 0 || rows == 0) {
      for (int i = 0; i < 3; ++i) ARGOSY_RETURN_IF_ERROR(zero(c, to[i], cell.units));
      return ok_status();
    }
    return cuda::launch(c, {kModule, "lstm_peepholes"}, cuda::grid_for(cell.units), cell, rows, d_gates, cell_first,
                        cells, to[0], to[1], to[2]);
  }

  Status backward_cell(KernelContext& c, const Sizes& n, const LstmCell& cell) const {
    float* out[5];
    const Shape shapes[] = {{n.batch, n.units}, {n.batch, 4 * n.units}, {n.units}, {n.units}, {n.units}};
    for (int i = 0; i < 5; ++i) {
      ARGOSY_ASSIGN_OR_RETURN(out[i], output(c, i, shapes[i]));
    }
    const float* const none = nullptr;
    ARGOSY_RETURN_IF_ERROR(
        back_one(c, cell, input(c, 1), states(c, 8, 0), input(c, 14), input(c, 15), none, none, out[1], out[0]));
    return peepholes(c, cell, n.batch, out[1], input(c, 1), input(c, 9), out + 2);
  }

  // Weights' gradients of all steps at once, from what they multiplied.
  Status backward(KernelContext& c, const Sizes& n, const LstmCell& cell, std::int64_t time, std::int64_t steps) const {
    const Shape state{n.batch, n.units}, peephole{n.units};
    const Shape shapes[] = {
        {time, n.batch, n.inputs}, state, state, {n.width(), 4 * n.units}, peephole, peephole, peephole, {4 * n.units}};
    float* out[8];
    for (int i = 0; i < 8; ++i) {
      ARGOSY_ASSIGN_OR_RETURN(out[i], output(c, i, shapes[i]));
      ARGOSY_RETURN_IF_ERROR(zero(c, out[i], shapes[i].elements()));
    }
    const std::int64_t rows = steps * n.batch, columns_of_gates = 4 * n.units;
    if (rows == 0 || n.units == 0) return ok_status();
    ARGOSY_ASSIGN_OR_RETURN(const Buffer d_gates, floats(c, rows * columns_of_gates));
    ARGOSY_ASSIGN_OR_RETURN(const Buffer d_joined, floats(c, n.batch * n.width()));
    for (std::int64_t t = steps - 1; t >= 0; --t) {
      const std::int64_t at = t * n.cells();
      const float* const cell_before = t == 0 ? input(c, 1) : input(c, 9) + at - n.cells();
      float* const gates = data(d_gates) + t * n.batch * columns_of_gates;
      ARGOSY_RETURN_IF_ERROR(back_one(c, cell, cell_before, states(c, 8, at), input(c, 15) + at, input(c, 16) + at,
                                      out[1], out[2], gates, out[1]));
      ARGOSY_RETURN_IF_ERROR(multiply(c, {.transpose_b = true, .m = n.batch, .n = n.width(), .k = columns_of_gates},
                                      gates, input(c, 3), data(d_joined)));
      ARGOSY_RETURN_IF_ERROR(
          columns(c, n.batch, n.inputs, data(d_joined), n.width(), out[0] + t * n.batch * n.inputs, n.inputs));
      ARGOSY_RETURN_IF_ERROR(columns(c, n.batch, n.units, data(d_joined) + n.inputs, n.width(), out[2], n.units));
    }
    ARGOSY_ASSIGN_OR_RETURN(const Buffer joined, floats(c, rows * n.width()));
    float* const outputs = data(joined) + n.inputs;
    ARGOSY_RETURN_IF_ERROR(columns(c, rows, n.inputs, input(c, 0), n.inputs, data(joined), n.width()));
    ARGOSY_RETURN_IF_ERROR(columns(c, n.batch, n.units, input(c, 2), n.units, outputs, n.width()));
    ARGOSY_RETURN_IF_ERROR(
        columns(c, rows - n.batch, n.units, input(c, 14), n.units, outputs + n.batch * n.width(), n.width()));
    ARGOSY_RETURN_IF_ERROR(multiply(c, {.transpose_a = true, .m = n.width(), .n = columns_of_gates, .k = rows},
                                    data(joined), data(d_gates), out[3]));
    ARGOSY_RETURN_IF_ERROR(peepholes(c, cell, rows, data(d_gates), input(c, 1), input(c, 9), out + 4));
    return cuda::reduce_on_gpu(c, "sum", kFloat, d_gates.data(), {{rows, true}, {columns_of_gates, false}}, out[7]);
  }

  const std::string op_;
  const bool sequence_;
  const int first_;
  const bool capturable_;
  LstmCell cell_;
};

class Gru final : public Kernel {
 public:
  explicit Gru(std::string op) : op_(std::move(op)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Gru>(init.op.name));
  }
  Status run(KernelContext& c) override {
    const Shape &x = c.input(0).shape(), &h = c.input(1).shape();
    if (x.rank() != 2 || h.rank() != 2) {
      return invalid_argument(op_, ": x and h_prev must be matrices, not of shapes ", x, " and ", h);
    }
    const Sizes n{x[0], x[1], h[1]};
    ARGOSY_RETURN_IF_ERROR(Shape::make(std::array{n.batch + 1, n.width(), n.units, std::int64_t{2}}).status());
    const Shape state{n.batch, n.units};
    const Shape wanted[] = {
        x, state, {n.width(), 2 * n.units}, {n.width(), n.units}, {2 * n.units}, {n.units}, state, state, state, state};
    for (int i = 1; i < c.num_inputs(); ++i) {
      if (!(c.input(i).shape() == wanted[i])) return misfit(op_, i, c.input(i).shape(), wanted[i]);
    }
    return op_ == "GRUBlockCell" ? forward(c, n) : backward(c, n);
  }

 private:
  static const float* in(const KernelContext& c, int i) { return c.input(i).raw_as<float>(); }

  static Status forward(KernelContext& c, const Sizes& n) {
    float* out[4];
    for (int i = 0; i < 4; ++i) {
      ARGOSY_ASSIGN_OR_RETURN(out[i], output(c, i, Shape{n.batch, n.units}));
    }
    if (n.cells() == 0) return ok_status();
    ARGOSY_ASSIGN_OR_RETURN(const Buffer joined, floats(c, n.batch * n.width()));
    ARGOSY_ASSIGN_OR_RETURN(const Buffer gates, floats(c, 2 * n.cells()));
    ARGOSY_ASSIGN_OR_RETURN(const Buffer reset, floats(c, n.cells()));
    float* const state = data(joined) + n.inputs;
    ARGOSY_RETURN_IF_ERROR(columns(c, n.batch, n.inputs, in(c, 0), n.inputs, data(joined), n.width()));
    ARGOSY_RETURN_IF_ERROR(columns(c, n.batch, n.units, in(c, 1), n.units, state, n.width()));
    ARGOSY_RETURN_IF_ERROR(
        multiply(c, {.m = n.batch, .n = 2 * n.units, .k = n.width()}, data(joined), in(c, 2), data(gates)));
    const cuda::LaunchShape shape = cuda::grid_for(n.cells());
    ARGOSY_RETURN_IF_ERROR(cuda::launch(c, {kModule, "gru_gates"}, shape, n.batch, n.units, gates.data(), in(c, 4),
                                        in(c, 1), out[0], out[1], reset.data()));
    ARGOSY_RETURN_IF_ERROR(columns(c, n.batch, n.units, data(reset), n.units, state, n.width()));
    ARGOSY_RETURN_IF_ERROR(multiply(c, {.m = n.batch, .n = n.units, .k = n.width()}, data(joined), in(c, 3), out[2]));
    return cuda::launch(c, {kModule, "gru_state"}, shape, n.batch, n.units, in(c, 5), in(c, 1), out[1], out[2], out[3]);
  }

  static Status backward(KernelContext& c, const Sizes& n) {
    const Shape shapes[] = {{n.batch, n.inputs}, {n.batch, n.units}, {n.batch, n.units}, {n.batch, 2 * n.units}};
    float* out[4];
    for (int i = 0; i < 4; ++i) {
      ARGOSY_ASSIGN_OR_RETURN(out[i], output(c, i, shapes[i]));
    }
    if (n.batch * n.width() == 0) return ok_status();
    const float *const h = in(c, 1), *const r = in(c, 6), *const u = in(c, 7), *const cell = in(c, 8),
                       *const d_h = in(c, 9);
    ARGOSY_ASSIGN_OR_RETURN(const Buffer by_cell, floats(c, n.batch * n.width()));
    ARGOSY_ASSIGN_OR_RETURN(const Buffer by_gates, floats(c, n.batch * n.width()));
    ARGOSY_RETURN_IF_ERROR(
        cuda::launch(c, {kModule, "gru_cell_back"}, cuda::grid_for(n.cells()), n.cells(), d_h, u, cell, out[2]));
    ARGOSY_RETURN_IF_ERROR(multiply(c, {.transpose_b = true, .m = n.batch, .n = n.width(), .k = n.units}, out[2],
                                    in(c, 3), data(by_cell)));
    ARGOSY_RETURN_IF_ERROR(cuda::launch(c, {kModule, "gru_gates_back"}, cuda::grid_for(n.cells()), n.batch, n.inputs,
                                        n.units, by_cell.data(), h, r, u, cell, d_h, out[3]));
    ARGOSY_RETURN_IF_ERROR(multiply(c, {.transpose_b = true, .m = n.batch, .n = n.width(), .k = 2 * n.units}, out[3],
                                    in(c, 2), data(by_gates)));
    return cuda::launch(c, {kModule, "gru_back"}, cuda::grid_for(n.batch * n.width()), n.batch, n.inputs, n.units,
                        by_cell.data(), by_gates.data(), r, u, d_h, out[0], out[1]);
  }

  const std::string op_;
};

}  // namespace

void add_kernels_cuda_rnn(KernelRegistry& kernels) {
  const std::vector<KernelTypes> floats = {{"T", {kFloat}}};
  for (const char* op :
       {"LSTMBlockCell", "LSTMBlockCellGrad", "BlockLSTM", "BlockLSTMV2", "BlockLSTMGrad", "BlockLSTMGradV2"}) {
    kernels.add(op, "cuda", LstmKernel::make, floats);
  }
  kernels.add("GRUBlockCell", "cuda", Gru::make, floats);
  kernels.add("GRUBlockCellGrad", "cuda", Gru::make, floats);
}

}  // namespace argosy
