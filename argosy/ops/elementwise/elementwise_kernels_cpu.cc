#include "argosy/ops/elementwise/elementwise_kernels.h"

#include <algorithm>

#include "argosy/base/threads/parallel.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/elementwise/broadcast_plan.h"

namespace argosy {

namespace {

constexpr std::int64_t kBlock = 512;        // elements of a block in float32, or gathered: two or three fit a core's L1
constexpr std::int64_t kShortRow = 32;      // rows below this are gathered into blocks first
constexpr std::int64_t kMostGathered = 16;  // bytes of an element; larger ones are objects

bool is_half(DType d) { return d == DType::kBfloat16 || d == DType::kFloat16; }

// Finds the row of an op and dtype. `as_float`: the row is that of float32, for a 16-bit float.
template <typename Row>
const Row* find_row(std::string_view op, DType dtype, std::span<const Row> rows, bool* as_float) {
  const Row* wide = nullptr;
  for (const Row& row : rows) {
    if (row.dtype != dtype && row.dtype != DType::kFloat32) continue;
    if (row.op != op) continue;
    if (row.dtype == dtype) return &row;
    wide = &row;
  }
  *as_float = wide != nullptr && is_half(dtype);
  return *as_float ? wide : nullptr;
}

class UnaryKernel final : public Kernel {
 public:
  UnaryKernel(const UnaryRow& row, DType dtype, bool as_float, DType output)
      : span_(row.span),
        grain_(grain_of(row.work)),
        half_(as_float ? dtype : DType::kInvalid),
        half_output_(as_float && is_half(output)),
        in_bytes_(element_bytes(dtype)),
        out_bytes_(element_bytes(output)) {}

  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape(), {0}));
    const auto* const from = static_cast<const std::byte*>(x.raw());
    auto* const to = static_cast<std::byte*>(y->raw());
    parallel_for(x.elements(), grain_, [&](std::int64_t begin, std::int64_t end) {
      const std::byte* const source = from + begin * in_bytes_;
      std::byte* const target = to + begin * out_bytes_;
      half_ == DType::kInvalid ? span_(source, target, end - begin) : in_blocks(source, target, end - begin);
    });
    return ok_status();
  }

 private:
  void in_blocks(const std::byte* x, std::byte* y, std::int64_t n) const {
    alignas(64) float block[kBlock];
    for (std::int64_t i = 0; i < n; i += kBlock) {
      const std::int64_t m = std::min(kBlock, n - i);
      widen(half_, x + i * in_bytes_, block, m);
      if (half_output_) {
        span_(block, block, m);
        narrow(half_, block, y + i * out_bytes_, m);
      } else {
        span_(block, y + i * out_bytes_, m);
      }
    }
  }

  const UnarySpan span_;
  const std::int64_t grain_;
  const DType half_;        // the 16-bit dtype that goes through float32, or kInvalid
  const bool half_output_;  // the result is of that dtype too
  const std::int64_t in_bytes_, out_bytes_;
};

// Calls a row's spans: directly, or for 16-bit floats through blocks of float32.
class BinaryCaller {
 public:
  BinaryCaller(const BinarySpans& spans, DType dtype, bool as_float, DType output)
      : spans_(spans),
        half_(as_float ? dtype : DType::kInvalid),
        half_output_(as_float && is_half(output)),
        in_bytes_(static_cast<std::int64_t>(element_bytes(dtype))),
        out_bytes_(static_cast<std::int64_t>(element_bytes(output))) {}

  std::int64_t in_bytes() const { return in_bytes_; }
  std::int64_t out_bytes() const { return out_bytes_; }

  void operator()(bool x_steps, bool y_steps, const std::byte* x, const std::byte* y, std::byte* z,
                  std::int64_t n) const {
    const BinarySpan span = !x_steps ? spans_.left_one : !y_steps ? spans_.right_one : spans_.both;
    if (half_ == DType::kInvalid) return span(x, y, z, n);
    alignas(64) float xs[kBlock];
    alignas(64) float ys[kBlock];
    if (!x_steps) widen(half_, x, xs, 1);
    if (!y_steps) widen(half_, y, ys, 1);
    for (std::int64_t i = 0; i < n; i += kBlock) {
      const std::int64_t m = std::min(kBlock, n - i);
      if (x_steps) widen(half_, x + i * in_bytes_, xs, m);
      if (y_steps) widen(half_, y + i * in_bytes_, ys, m);
      if (half_output_) {
        float* const zs = x_steps ? xs : ys;
        span(xs, ys, zs, m);
        narrow(half_, zs, z + i * out_bytes_, m);
      } else {
        span(xs, ys, z + i * out_bytes_, m);
      }
    }
  }

 private:
  BinarySpans spans_;
  DType half_;
  bool half_output_;
  std::int64_t in_bytes_, out_bytes_;
};

class BinaryKernel final : public Kernel {
 public:
  BinaryKernel(const BinaryRow& row, DType dtype, bool as_float, DType output, bool broadcasts,
               bool incompatible_is_error)
      : call_(row.spans, dtype, as_float, output),
        check_(row.check),
        grain_(grain_of(row.work)),
        different_(row.op == std::string_view("NotEqual")),
        broadcasts_(broadcasts),
        incompatible_is_error_(incompatible_is_error) {}

  // If both static shapes are known, finds the output's shape and the broadcast plan once.
  void prepare(const Shape& x, const Shape& y) {
    auto shape = broadcast(x, y);
    if (!shape.ok()) return;
    const Shape* const shapes[] = {&x, &y};
    auto plan = std::make_unique<Prepared>(Prepared{x, y, *shape, BroadcastPlan(*shape, shapes)});
    prepared_ = std::move(plan);
  }

  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    const Tensor& y = c.input(1);
    if (check_ != nullptr) ARGOSY_RETURN_IF_ERROR(check_(x, y));
    if (x.shape() == y.shape()) return straight(c, x.shape(), true, true);
    if (!broadcasts_) return invalid_argument("inputs of shapes ", x.shape(), " and ", y.shape(), " must be alike");
    if (y.elements() == 1 && y.shape().rank() <= x.shape().rank()) return straight(c, x.shape(), true, false);
    if (x.elements() == 1 && x.shape().rank() <= y.shape().rank()) return straight(c, y.shape(), false, true);
    if (prepared_ && prepared_->x == x.shape() && prepared_->y == y.shape()) {
      return walk(c, prepared_->z, prepared_->plan);
    }
    auto shape = broadcast(x.shape(), y.shape());
    if (!shape.ok()) return incompatible(c, std::move(shape).status());
    const Shape* const shapes[] = {&x.shape(), &y.shape()};
    return walk(c, *shape, BroadcastPlan(*shape, shapes));
  }

 private:
  struct Prepared {
    Shape x, y, z;
    BroadcastPlan plan;
  };

  Status incompatible(KernelContext& c, Status error) const {
    if (incompatible_is_error_) return error;
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const z, c.output(0, {}));
    *z->data<bool>() = different_;
    return ok_status();
  }

  Status straight(KernelContext& c, const Shape& shape, bool x_steps, bool y_steps) const {
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const out, c.output(0, shape, {0, 1}));
    const auto* const x = static_cast<const std::byte*>(c.input(0).raw());
    const auto* const y = static_cast<const std::byte*>(c.input(1).raw());
    auto* const z = static_cast<std::byte*>(out->raw());
    const std::int64_t in = call_.in_bytes();
    parallel_for(shape.elements(), grain_, [&](std::int64_t begin, std::int64_t end) {
      call_(x_steps, y_steps, x_steps ? x + begin * in : x, y_steps ? y + begin * in : y, z + begin * call_.out_bytes(),
            end - begin);
    });
    return ok_status();
  }

  Status walk(KernelContext& c, const Shape& shape, const BroadcastPlan& plan) const {
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const out, c.output(0, shape, {0, 1}));
    if (plan.elements == 0) return ok_status();
    const auto* const x = static_cast<const std::byte*>(c.input(0).raw());
    const auto* const y = static_cast<const std::byte*>(c.input(1).raw());
    auto* const z = static_cast<std::byte*>(out->raw());
    const bool by_rows = plan.row() >= kShortRow || call_.in_bytes() > kMostGathered;
    parallel_for(plan.elements, grain_, [&](std::int64_t begin, std::int64_t end) {
      by_rows ? rows(plan, x, y, z, begin, end) : blocks(plan, x, y, z, begin, end);
    });
    return ok_status();
  }

  void rows(const BroadcastPlan& plan, const std::byte* x, const std::byte* y, std::byte* z, std::int64_t begin,
            std::int64_t end) const {
    const bool x_steps = plan.strides[0][plan.rank - 1] != 0;
    const bool y_steps = plan.strides[1][plan.rank - 1] != 0;
    BroadcastCursor at(plan, begin);
    while (begin < end) {
      const std::int64_t n = std::min(end - begin, at.left());
      call_(x_steps, y_steps, x + at.offset(0) * call_.in_bytes(), y + at.offset(1) * call_.in_bytes(),
            z + begin * call_.out_bytes(), n);
      at.advance(n);
      begin += n;
    }
  }

  // For short rows: copies repeated operands to blocks first, so that the arithmetic runs over full blocks.
  void blocks(const BroadcastPlan& plan, const std::byte* x, const std::byte* y, std::byte* z, std::int64_t begin,
              std::int64_t end) const {
    alignas(64) std::byte xs[kBlock * kMostGathered];
    alignas(64) std::byte ys[kBlock * kMostGathered];
    const bool x_dense = plan.dense(0);
    const bool y_dense = plan.dense(1);
    const auto bytes = static_cast<std::size_t>(call_.in_bytes());
    for (; begin < end; begin += kBlock) {
      const std::int64_t n = std::min(kBlock, end - begin);
      if (!x_dense) gather(plan, 0, x, begin, n, xs, bytes);
      if (!y_dense) gather(plan, 1, y, begin, n, ys, bytes);
      call_(true, true, x_dense ? x + begin * call_.in_bytes() : xs, y_dense ? y + begin * call_.in_bytes() : ys,
            z + begin * call_.out_bytes(), n);
    }
  }

  const BinaryCaller call_;
  Status (*const check_)(const Tensor&, const Tensor&);
  const std::int64_t grain_;
  const bool different_, broadcasts_, incompatible_is_error_;
  std::unique_ptr<const Prepared> prepared_;
};

Status no_row(const KernelInit& init) { return unimplemented("no such span for ", dtype_name(init.input_dtypes[0])); }

}  // namespace

std::int64_t grain_of(Work work) {
  switch (work) {
    case Work::kMove: return 1 << 17;
    case Work::kArithmetic: return 1 << 17;
    case Work::kFunction: return 1 << 14;
  }
  return 1 << 17;
}

Result<std::unique_ptr<Kernel>> make_unary(const KernelInit& init, std::span<const UnaryRow> rows,
                                           std::string_view function) {
  bool as_float = false;
  const DType dtype = init.input_dtypes[0];
  const UnaryRow* row = find_row(function.empty() ? init.op.name : function, dtype, rows, &as_float);
  if (row == nullptr) return no_row(init);
  return std::unique_ptr<Kernel>(std::make_unique<UnaryKernel>(*row, dtype, as_float, init.output_dtypes[0]));
}

Result<std::unique_ptr<Kernel>> make_binary(const KernelInit& init, std::span<const BinaryRow> rows,
                                            std::string_view function) {
  bool as_float = false;
  const DType dtype = init.input_dtypes[0];
  const BinaryRow* row = find_row(function.empty() ? init.op.name : function, dtype, rows, &as_float);
  if (row == nullptr) return no_row(init);
  auto kernel = std::make_unique<BinaryKernel>(*row, dtype, as_float, init.output_dtypes[0],
                                               init.op.shape != merged_inputs,  // gradients of unary functions
                                               init.attrs.get_or("incompatible_shape_error", true));
  if (init.input_shapes.size() == 2 && init.input_shapes[0].is_full() && init.input_shapes[1].is_full()) {
    const auto x = init.input_shapes[0].full();
    const auto y = init.input_shapes[1].full();
    if (x.ok() && y.ok() && !(*x == *y)) kernel->prepare(*x, *y);
  }
  return std::unique_ptr<Kernel>(std::move(kernel));
}

}  // namespace argosy
