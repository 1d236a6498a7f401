// GPU kernels of MatMul and similar ops.
#include "argosy/ops/matmul/batch_matmul.h"
#include "argosy/ops/matmul/gpu_gemm.h"

namespace argosy {

namespace {

class MatMul final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    FusedOps fused;
    if (init.attrs.find("fused_ops") != nullptr) {
      ARGOSY_ASSIGN_OR_RETURN(
          fused, parse_fused_ops(init.op.name, init.attrs, static_cast<int>(init.input_dtypes.size()) - 2));
    }
    return std::unique_ptr<Kernel>(std::make_unique<MatMul>(init.op.name, init.attrs.get_bool("transpose_a"),
                                                            init.attrs.get_bool("transpose_b"), fused));
  }
  MatMul(std::string op, bool transpose_a, bool transpose_b, const FusedOps& fused)
      : op_(std::move(op)), transpose_a_(transpose_a), transpose_b_(transpose_b), fused_(fused) {}

  Status run(KernelContext& c) override {
    const Shape &a = c.input(0).shape(), &b = c.input(1).shape();
    if (a.rank() != 2 || b.rank() != 2) {
      return invalid_argument(op_, ": both inputs must be matrices, not of shapes ", a, " and ", b)
          .with_id("ARG-SHAPE-004");
    }
    const Gemm g{transpose_a_, transpose_b_, a[transpose_a_ ? 1 : 0], b[transpose_b_ ? 0 : 1], a[transpose_a_ ? 0 : 1]};
    if (b[transpose_b_ ? 1 : 0] != g.k) {
      return invalid_argument("Matrix size-incompatible: In[0]: ", a, ", In[1]: ", b, ": ", op_,
                              ": inner dimensions differ: ", a, transpose_a_ ? " (transposed)" : "", " x ", b,
                              transpose_b_ ? " (transposed)" : "")
          .with_id("ARG-SHAPE-010")
          .with_hint("check transpose_a and transpose_b, or the width of the layer before");
    }
    if (fused_.bias && (c.input(2).shape().rank() != 1 || c.input(2).elements() != g.n)) {
      return invalid_argument(op_, ": bias of shape ", c.input(2).shape(), " does not fit ", g.n, " columns");
    }
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(std::array{g.m, g.n}));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const out, c.output(0, shape));
    return cuda::gemm_on_gpu(c, out->dtype(), g, {}, c.input(0).raw(), c.input(1).raw(),
                             fused_.bias ? c.input(2).raw() : nullptr, fused_, out->raw());
  }

 private:
  const std::string op_;
  const bool transpose_a_, transpose_b_;
  const FusedOps fused_;
};

class BatchMatMul final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    if (init.input_dtypes[0] != init.input_dtypes[1] || init.input_dtypes[0] != init.output_dtypes[0]) {
      return cuda::make_host_fallback(init);
    }
    return std::unique_ptr<Kernel>(std::make_unique<BatchMatMul>(init));
  }
  explicit BatchMatMul(const KernelInit& init)
      : op_(init.op.name), adj_x_(init.attrs.get_bool("adj_x")), adj_y_(init.attrs.get_bool("adj_y")) {}

  Status run(KernelContext& c) override {
    const Shape &x = c.input(0).shape(), &y = c.input(1).shape();
    if (x.rank() < 2 || y.rank() < 2) {
      return invalid_argument(op_, ": inputs must have rank 2 or more, not shapes ", x, " and ", y)
          .with_id("ARG-SHAPE-004");
    }
    const std::int64_t x_rows = x[x.rank() - 2], y_rows = y[y.rank() - 2];
    const Gemm g{adj_x_, adj_y_, adj_x_ ? x.back() : x_rows, adj_y_ ? y_rows : y.back(), adj_x_ ? x_rows : x.back()};
    if ((adj_y_ ? y.back() : y_rows) != g.k) {
      return invalid_argument("Matrix size-incompatible: In[0]: ", x, ", In[1]: ", y, ": ", op_,
                              ": inner dimensions differ: ", x, adj_x_ ? " (adjoint)" : "", " x ", y,
                              adj_y_ ? " (adjoint)" : "")
          .with_id("ARG-SHAPE-010");
    }
    ARGOSY_ASSIGN_OR_RETURN(const BatchBroadcast batch, broadcast_batch(op_, x, y, op_ != "BatchMatMul"));
    std::vector<std::int64_t> sizes(batch.batch.sizes().begin(), batch.batch.sizes().end());
    sizes.push_back(g.m);
    sizes.push_back(g.n);
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(sizes));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const out, c.output(0, shape));
    if (out->elements() == 0) return ok_status();
    const DType dtype = out->dtype();
    const std::int64_t matrices = batch.batch.elements(), a_size = g.m * g.k, b_size = g.k * g.n;
    const auto step = [](const std::vector<std::int64_t>& index, std::int64_t size) -> std::optional<std::int64_t> {
      if (index.empty()) return size;
      if (std::all_of(index.begin(), index.end(), [&](std::int64_t i) { return i == index[0]; })) return 0;
      return std::nullopt;
    };
    const auto a_step = step(batch.x, a_size), b_step = step(batch.y, b_size);
    if (a_step && b_step) {
      return cuda::gemm_on_gpu(c, dtype, g, {matrices, *a_step, *b_step}, c.input(0).raw(), c.input(1).raw(), nullptr,
                               {}, out->raw(), cuda::Adjoint::kYes);
    }
    const auto bytes = static_cast<std::int64_t>(element_bytes(dtype));
    const auto at = [&](const void* base, std::int64_t i, std::int64_t size) {
      return static_cast<const std::byte*>(base) + i * size * bytes;
    };
    for (std::int64_t i = 0; i < matrices; ++i) {
      const auto place = static_cast<std::size_t>(i);
      ARGOSY_RETURN_IF_ERROR(
          cuda::gemm_on_gpu(c, dtype, g, {}, at(c.input(0).raw(), batch.x.empty() ? i : batch.x[place], a_size),
                            at(c.input(1).raw(), batch.y.empty() ? i : batch.y[place], b_size), nullptr, {},
                            out->raw_as<std::byte>() + i * g.m * g.n * bytes, cuda::Adjoint::kYes));
    }
    return ok_status();
  }

 private:
  const std::string op_;
  const bool adj_x_, adj_y_;
};

}  // namespace

void add_kernels_cuda_matmul(KernelRegistry& kernels) {
  std::vector<DType> numbers = cuda::kFloatingTypes;
  using enum DType;
  numbers.push_back(kInt64);
  numbers.push_back(kComplex64);
  numbers.push_back(kComplex128);
  kernels.add("MatMul", "cuda", MatMul::make, {{"T", numbers}});
  kernels.add("_FusedMatMul", "cuda", MatMul::make, {{"T", cuda::kFloatingTypes}});
  kernels.add("BatchMatMul", "cuda", BatchMatMul::make, {{"T", numbers}});
  kernels.add("BatchMatMulV2", "cuda", BatchMatMul::make, {{"T", numbers}});
  kernels.add("BatchMatMulV3", "cuda", BatchMatMul::make,
              {{"Ta", cuda::kFloatingTypes}, {"Tb", cuda::kFloatingTypes}, {"Tout", cuda::kFloatingTypes}});
  for (const char* op : {"MatMul", "BatchMatMul", "BatchMatMulV2"}) {
    kernels.add(op, "cuda", cuda::make_on_host, {{"T", {DType::kInt32}}});
  }
}

}  // namespace argosy
