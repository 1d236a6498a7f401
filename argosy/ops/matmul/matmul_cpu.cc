#include <cstring>

#include "argosy/base/threads/parallel.h"
#include "argosy/op/kernel/workspace.h"
#include "argosy/ops/matmul/batch_matmul.h"
#include "argosy/ops/matmul/gemm.h"

namespace argosy {

namespace {

using ReferenceTypes = NumberTypes;

// Shapes, checked; the result is allocated.
struct Call {
  Gemm gemm;
  Tensor* out = nullptr;
};

Result<Call> prepare(KernelContext& c, std::string_view op, bool transpose_a, bool transpose_b, bool has_bias) {
  const Shape& a = c.input(0).shape();
  const Shape& b = c.input(1).shape();
  if (a.rank() != 2 || b.rank() != 2) {
    return invalid_argument(op, ": both inputs must be matrices, not of shapes ", a, " and ", b)
        .with_id("ARG-SHAPE-004");
  }
  const Gemm g{transpose_a, transpose_b, a[transpose_a ? 1 : 0], b[transpose_b ? 0 : 1], a[transpose_a ? 0 : 1]};
  if (b[transpose_b ? 1 : 0] != g.k) [[unlikely]] {
    return invalid_argument("Matrix size-incompatible: In[0]: ", a, ", In[1]: ", b, ": ", op,
                            ": inner dimensions differ: ", a, transpose_a ? " (transposed)" : "", " x ", b,
                            transpose_b ? " (transposed)" : "")
        .with_id("ARG-SHAPE-010")
        .with_hint("check transpose_a and transpose_b, or the width of the layer before");
  }
  if (has_bias && (c.input(2).shape().rank() != 1 || c.input(2).elements() != g.n)) {
    return invalid_argument(op, ": bias of shape ", c.input(2).shape(), " does not fit ", g.n, " columns");
  }
  const std::int64_t sizes[] = {g.m, g.n};
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape,
                          Shape::make(sizes));  // an empty inner axis makes huge results cheap to ask for
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const out, c.output(0, shape));
  return Call{g, out};
}

// What the op says beside its shapes; MatMul is the fused op without anything fused.
struct Options {
  std::string_view op;
  bool transpose_a, transpose_b;
  FusedOps fused;
  ReductionChunks batch;

  static Result<Options> read(const KernelInit& init) {
    Options o{init.op.name,
              init.attrs.get_bool("transpose_a"),
              init.attrs.get_bool("transpose_b"),
              {},
              ReductionChunks::of(init.attrs)};
    if (init.attrs.find("fused_ops") != nullptr) {
      ARGOSY_ASSIGN_OR_RETURN(o.fused,
                              parse_fused_ops(o.op, init.attrs, static_cast<int>(init.input_dtypes.size()) - 2));
    }
    return o;
  }
};

template <typename T>
void plain(const Call& call, const Options& o, KernelContext& c) {
  const Gemm& g = call.gemm;
  T* const out = call.out->data<T>();
  const T *const a = c.input(0).data<T>(), *const b = c.input(1).data<T>();
  parallel_for(g.m, std::max<std::int64_t>(1, 20000 / (g.n * g.k + 1)),
               [&](std::int64_t begin, std::int64_t end) { gemm_rows(g, a, b, out, begin, end); });
  if constexpr (std::is_floating_point_v<T> || sizeof(T) == 2) {
    using Wide = typename internal::Accumulator<T>::type;
    if constexpr (std::is_floating_point_v<Wide>) {
      const T* const bias = o.fused.bias ? c.input(2).data<T>() : nullptr;
      if (bias == nullptr && o.fused.activation == FusedOps::Activation::kNone) return;
      for (std::int64_t i = 0; i < g.m * g.n; ++i) {
        const Wide sum = static_cast<Wide>(out[i]) + (bias != nullptr ? static_cast<Wide>(bias[i % g.n]) : Wide(0));
        out[i] = T(apply_activation(o.fused, sum));
      }
    }
  }
}

class PlainMatMul final : public Kernel {
 public:
  explicit PlainMatMul(const Options& options) : options_(options) {}
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const Call call,
                            prepare(c, options_.op, options_.transpose_a, options_.transpose_b, options_.fused.bias));
    return dispatch<ReferenceTypes>(call.out->dtype(), options_.op, [&]<typename T>() {
      plain<T>(call, options_, c);
      return ok_status();
    });
  }
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    ARGOSY_ASSIGN_OR_RETURN(const Options options, Options::read(init));
    return std::unique_ptr<Kernel>(std::make_unique<PlainMatMul>(options));
  }

 private:
  Options options_;
};

template <typename T>
class FastMatMul final : public Kernel, public Workspace {
 public:
  FastMatMul(const Options& options, SharedProducts shared)
      : options_(options), programs_(onednn::make_matmul, std::move(shared)) {}
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(Call call,
                            prepare(c, options_.op, options_.transpose_a, options_.transpose_b, options_.fused.bias));
    join_batch(call.gemm);
    if (call.out->elements() == 0) return ok_status();
    if (call.gemm.k == 0) {
      plain<T>(call, options_, c);
      return ok_status();
    }
    const T* const bias = options_.fused.bias ? c.input(2).raw_as<T>() : nullptr;
    return gemm(c, programs_, call.gemm, c.input(0).raw_as<T>(), c.input(1).raw_as<T>(), bias, options_.fused,
                call.out->raw_as<T>());
  }
  std::optional<std::uint64_t> workspace_bytes(const KernelInit& init) override {
    const PartialShape &a = init.input_shapes[0], &b = init.input_shapes[1];
    if (!a.is_full() || !b.is_full() || a.rank() != 2 || b.rank() != 2) return std::nullopt;
    const bool left = options_.transpose_a, right = options_.transpose_b;
    Gemm g{left, right, a[left ? 1 : 0], b[right ? 0 : 1], a[left ? 0 : 1]};
    if (g.m * g.n * g.k == 0) return 0;
    join_batch(g);
    return gemm_scratch_bytes(programs_, g, dtype_of<T>(), options_.fused.bias, options_.fused);
  }

 private:
  void join_batch(Gemm& g) const {
    g.batch = options_.batch;
    if (options_.batch.rows()) g.global_rows = options_.batch.global(g.m);
  }

  Options options_;
  MatMulPrograms programs_;
};

Result<std::unique_ptr<Kernel>> make_fast(const KernelInit& init) {
  ARGOSY_ASSIGN_OR_RETURN(const Options options, Options::read(init));
  ARGOSY_ASSIGN_OR_RETURN(SharedProducts shared, shared_products(init));
  std::unique_ptr<Kernel> kernel;
  ARGOSY_RETURN_IF_ERROR(dispatch<FloatTypes>(init.input_dtypes[0], "fast product", [&]<typename T>() {
    kernel = std::make_unique<FastMatMul<T>>(options, std::move(shared));
    return ok_status();
  }));
  return kernel;
}

}  // namespace

void add_kernels_cpu_matmul(KernelRegistry& kernels) {
  for (const char* op : {"MatMul", "_FusedMatMul"}) {
    kernels.add(op, "cpu", make_fast);
    kernels.add(op, "cpu", PlainMatMul::make);
  }
  add_kernels_cpu_batch_matmul(kernels);
}

}  // namespace argosy
