#include "argosy/ops/rnn/rnn_cells.h"

#include <algorithm>

namespace argosy::rnn {

namespace {

bool is_half(const Tensor& t) { return t.dtype() == DType::kFloat16; }

}  // namespace

Result<FloatCall> FloatCall::start(KernelContext& c, int first) {
  FloatCall call(c);
  for (int i = 0; i < c.num_inputs(); ++i) {
    Tensor t = c.input(i);
    if (i >= first && is_half(t)) {
      ARGOSY_ASSIGN_OR_RETURN(Tensor wide, Tensor::allocate(DType::kFloat32, t.shape(), c.allocator()));
      for (std::int64_t k = 0; k < t.elements(); ++k) wide.data<float>()[k] = static_cast<float>(t.data<float16>()[k]);
      t = std::move(wide);
    }
    call.inputs_.push_back(std::move(t));
  }
  return call;
}

Result<float*> FloatCall::output(int i, const Shape& shape) {
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c_.output(i, shape));
  if (!is_half(*y)) return y->data<float>();
  ARGOSY_ASSIGN_OR_RETURN(Tensor wide, Tensor::allocate(DType::kFloat32, shape, c_.allocator()));
  narrow_.emplace_back(wide, *y);
  return wide.data<float>();
}

Status FloatCall::finish() {
  for (const auto& [from, to] : narrow_) {
    for (std::int64_t k = 0; k < from.elements(); ++k) to.data<float16>()[k] = float16(from.data<float>()[k]);
  }
  return ok_status();
}

Status product(KernelContext& c, MatMulPrograms& programs, const Gemm& g, const float* a, const float* b, float* out) {
  if (g.m == 0 || g.n == 0) return ok_status();
  if (g.k == 0) {
    std::fill_n(out, g.m * g.n, 0.0f);
    return ok_status();
  }
  return gemm(c, programs, g, a, b, nullptr, FusedOps{}, out);
}

Lstm::Lstm(KernelContext& c, MatMulPrograms& programs, const Sizes& sizes)
    : c_(c),
      programs_(programs),
      n_(sizes),
      joined_(static_cast<std::size_t>(sizes.batch * (sizes.inputs + sizes.units))),
      gates_(static_cast<std::size_t>(4 * sizes.cells())) {}

const float* Lstm::joined(const float* x, const float* output_before) {
  const std::int64_t width = n_.inputs + n_.units;
  for (std::int64_t row = 0; row < n_.batch; ++row) {
    std::copy_n(x + row * n_.inputs, n_.inputs, joined_.data() + row * width);
    std::copy_n(output_before + row * n_.units, n_.units, joined_.data() + row * width + n_.inputs);
  }
  return joined_.data();
}

Status Lstm::forward(const LstmWeightsView& weights, const LstmStep& s) {
  const Gemm g{.m = n_.batch, .n = 4 * n_.units, .k = n_.inputs + n_.units};
  ARGOSY_RETURN_IF_ERROR(product(c_, programs_, g, joined(s.x, s.output_before), weights.w, gates_.data()));
  for (std::int64_t row = 0; row < n_.batch; ++row) {
    const float* const gates = gates_.data() + row * 4 * n_.units;
    for (std::int64_t k = 0; k < n_.units; ++k) {
      const auto gate = [&](int position) {
        return gates[position * n_.units + k] + weights.b[position * n_.units + k];
      };
      const std::int64_t at = row * n_.units + k;
      const float before = s.cell_before[at];
      const bool peeps = weights.use_peephole;
      s.i[at] = sigmoid(gate(weights.order.i) + (peeps ? before * weights.peephole_i[k] : 0));
      s.f[at] = sigmoid(gate(weights.order.f) + weights.forget_bias + (peeps ? before * weights.peephole_f[k] : 0));
      s.cell_input[at] = std::tanh(gate(weights.order.cell));
      float cell = s.cell_input[at] * s.i[at] + before * s.f[at];
      if (weights.cell_clip > 0) cell = std::clamp(cell, -weights.cell_clip, weights.cell_clip);
      s.cell[at] = cell;
      s.o[at] = sigmoid(gate(weights.order.o) + (peeps ? cell * weights.peephole_o[k] : 0));
      s.cell_output[at] = std::tanh(cell);
      s.output[at] = s.o[at] * s.cell_output[at];
    }
  }
  return ok_status();
}

void Lstm::backward(const LstmWeightsView& weights, const LstmBackStep& s) const {
  const bool peeps = weights.use_peephole;
  for (std::int64_t row = 0; row < n_.batch; ++row) {
    float* const gates = s.d_gates + row * 4 * n_.units;
    for (std::int64_t k = 0; k < n_.units; ++k) {
      const std::int64_t at = row * n_.units + k;
      const float o = s.o[at], i = s.i[at], f = s.f[at], ci = s.cell_input[at], co = s.cell_output[at];
      const float d_o = o * (1 - o) * s.d_output[at] * co;
      float d_cell = (1 - co * co) * s.d_output[at] * o + s.d_cell[at];
      if (peeps) d_cell += d_o * weights.peephole_o[k];
      const float d_ci = (1 - ci * ci) * d_cell * i;
      const float d_f = f * (1 - f) * d_cell * s.cell_before[at];
      const float d_i = i * (1 - i) * d_cell * ci;
      gates[weights.order.i * n_.units + k] = d_i;
      gates[weights.order.cell * n_.units + k] = d_ci;
      gates[weights.order.f * n_.units + k] = d_f;
      gates[weights.order.o * n_.units + k] = d_o;
      s.d_cell_before[at] = d_cell * f;
      if (!peeps) continue;
      s.d_cell_before[at] += d_i * weights.peephole_i[k] + d_f * weights.peephole_f[k];
      s.d_peephole_i[k] += d_i * s.cell_before[at];
      s.d_peephole_f[k] += d_f * s.cell_before[at];
      s.d_peephole_o[k] += d_o * s.cell[at];
    }
  }
}

}  // namespace argosy::rnn
