#include <algorithm>

#include "argosy/op/kernel/workspace.h"
#include "argosy/ops/rnn/rnn_cells.h"

namespace argosy {

void add_lstm(KernelRegistry& kernels);  // lstm_cpu.cc

namespace {

using rnn::Sizes;

class Gru final : public Kernel {
 public:
  explicit Gru(std::string op) : op_(std::move(op)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Gru>(init.op.name));
  }
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const Sizes n, sizes(c));
    return op_ == "GRUBlockCell" ? forward(c, n) : backward(c, n);
  }

 private:
  Result<Sizes> sizes(KernelContext& c) const {
    const Shape& x = c.input(0).shape();
    const Shape& h = c.input(1).shape();
    if (x.rank() != 2 || h.rank() != 2) {
      return invalid_argument(op_, ": x and h_prev must be matrices, not of shapes ", x, " and ", h);
    }
    Sizes n{x[0], x[1], h[1]};
    const std::int64_t all[] = {n.batch + 1, n.inputs + n.units, n.units, 2};
    ARGOSY_RETURN_IF_ERROR(Shape::make(all).status());
    const Shape state{n.batch, n.units};
    const std::int64_t width = n.inputs + n.units;
    const Shape wanted[] = {
        x, state, {width, 2 * n.units}, {width, n.units}, {2 * n.units}, {n.units}, state, state, state, state};
    for (int i = 1; i < c.num_inputs(); ++i) {
      if (c.input(i).shape() == wanted[i]) continue;
      return invalid_argument(op_, ": input ", i, " has shape ", c.input(i).shape(), ", not ", wanted[i]);
    }
    return n;
  }

  static std::vector<float> beside(const float* a, const float* b, const Sizes& n) {
    std::vector<float> both(static_cast<std::size_t>(n.batch * (n.inputs + n.units)));
    float* to = both.data();
    for (std::int64_t row = 0; row < n.batch; ++row) {
      to = std::copy_n(a + row * n.inputs, n.inputs, to);
      to = std::copy_n(b + row * n.units, n.units, to);
    }
    return both;
  }

  Status forward(KernelContext& c, const Sizes& n) {
    const float *const x = c.input(0).data<float>(), *const h = c.input(1).data<float>();
    float* out[4];
    for (int i = 0; i < 4; ++i) {
      ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(i, Shape{n.batch, n.units}));
      out[i] = y->data<float>();
    }
    const std::int64_t width = n.inputs + n.units;
    std::vector<float> gates(static_cast<std::size_t>(2 * n.cells())), reset(static_cast<std::size_t>(n.cells()));
    ARGOSY_RETURN_IF_ERROR(rnn::product(c, programs_, {.m = n.batch, .n = 2 * n.units, .k = width},
                                        beside(x, h, n).data(), c.input(2).data<float>(), gates.data()));
    const float *const b = c.input(4).data<float>(), *const b_c = c.input(5).data<float>();
    for (std::int64_t at = 0; at < n.cells(); ++at) {
      const std::int64_t row = at / n.units, k = at % n.units;
      out[0][at] = rnn::sigmoid(gates[static_cast<std::size_t>(row * 2 * n.units + k)] + b[k]);
      out[1][at] = rnn::sigmoid(gates[static_cast<std::size_t>((row * 2 + 1) * n.units + k)] + b[n.units + k]);
      reset[static_cast<std::size_t>(at)] = h[at] * out[0][at];
    }
    ARGOSY_RETURN_IF_ERROR(rnn::product(c, more_programs_, {.m = n.batch, .n = n.units, .k = width},
                                        beside(x, reset.data(), n).data(), c.input(3).data<float>(), out[2]));
    for (std::int64_t at = 0; at < n.cells(); ++at) {
      out[2][at] = std::tanh(out[2][at] + b_c[at % n.units]);
      out[3][at] = out[1][at] * (h[at] - out[2][at]) + out[2][at];
    }
    return ok_status();
  }

  Status backward(KernelContext& c, const Sizes& n) {
    const float* const h = c.input(1).data<float>();
    const float *const r = c.input(6).data<float>(), *const u = c.input(7).data<float>();
    const float *const cell = c.input(8).data<float>(), *const d_h = c.input(9).data<float>();
    const Shape shapes[] = {{n.batch, n.inputs}, {n.batch, n.units}, {n.batch, n.units}, {n.batch, 2 * n.units}};
    float* out[4];
    for (int i = 0; i < 4; ++i) {
      ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(i, shapes[i]));
      out[i] = y->data<float>();
    }
    const std::int64_t width = n.inputs + n.units;
    std::vector<float> by_cell(static_cast<std::size_t>(n.batch * width)), by_gates(by_cell.size());
    for (std::int64_t at = 0; at < n.cells(); ++at) out[2][at] = d_h[at] * (1 - u[at]) * (1 - cell[at] * cell[at]);
    ARGOSY_RETURN_IF_ERROR(rnn::product(c, programs_, {.transpose_b = true, .m = n.batch, .n = width, .k = n.units},
                                        out[2], c.input(3).data<float>(), by_cell.data()));
    const auto place = [&](std::int64_t at) {
      return static_cast<std::size_t>(at / n.units * width + n.inputs + at % n.units);
    };
    for (std::int64_t at = 0; at < n.cells(); ++at) {
      float* const gates = out[3] + at / n.units * 2 * n.units + at % n.units;
      gates[0] = by_cell[place(at)] * h[at] * r[at] * (1 - r[at]);
      gates[n.units] = d_h[at] * (h[at] - cell[at]) * u[at] * (1 - u[at]);
    }
    ARGOSY_RETURN_IF_ERROR(rnn::product(c, more_programs_,
                                        {.transpose_b = true, .m = n.batch, .n = width, .k = 2 * n.units}, out[3],
                                        c.input(2).data<float>(), by_gates.data()));
    for (std::int64_t at = 0; at < n.cells(); ++at) {
      out[1][at] = by_gates[place(at)] + by_cell[place(at)] * r[at] + d_h[at] * u[at];
    }
    for (std::int64_t at = 0; at < n.batch * n.inputs; ++at) {
      const auto from = static_cast<std::size_t>(at / n.inputs * width + at % n.inputs);
      out[0][at] = by_cell[from] + by_gates[from];
    }
    return ok_status();
  }

  const std::string op_;
  MatMulPrograms programs_{onednn::make_matmul}, more_programs_{onednn::make_matmul};
};

}  // namespace

void add_kernels_cpu_rnn(KernelRegistry& kernels) {
  add_lstm(kernels);
  kernels.add("GRUBlockCell", "cpu", with_workspace<Gru::make, known_when_run>);
  kernels.add("GRUBlockCellGrad", "cpu", with_workspace<Gru::make, known_when_run>);
}

}  // namespace argosy
