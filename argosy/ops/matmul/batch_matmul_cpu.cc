#include "argosy/base/threads/parallel.h"
#include "argosy/op/kernel/workspace.h"
#include "argosy/ops/matmul/batch_matmul.h"
#include "argosy/ops/matmul/gemm.h"

namespace argosy {

namespace {

struct Options {
  std::string op;
  bool adj_x, adj_y, broadcast;

  static Options read(const KernelInit& init) {
    return {init.op.name, init.attrs.get_bool("adj_x"), init.attrs.get_bool("adj_y"), init.op.name != "BatchMatMul"};
  }
};

struct Call {
  Gemm gemm;  // of one matrix
  BatchBroadcast batch;
  Tensor* out = nullptr;

  std::int64_t matrices() const { return batch.batch.elements(); }
  std::int64_t x(std::int64_t i) const { return batch.x.empty() ? i : batch.x[i]; }
  std::int64_t y(std::int64_t i) const { return batch.y.empty() ? i : batch.y[i]; }
};

// What shapes tell; without a place for the result.
Result<Call> call_of(const Shape& x, const Shape& y, const Options& o) {
  if (x.rank() < 2 || y.rank() < 2) {
    return invalid_argument(o.op, ": inputs must have rank 2 or more, not shapes ", x, " and ", y)
        .with_id("ARG-SHAPE-004");
  }
  const std::int64_t x_rows = x[x.rank() - 2], y_rows = y[y.rank() - 2];
  Call call;
  call.gemm = {o.adj_x, o.adj_y, o.adj_x ? x.back() : x_rows, o.adj_y ? y_rows : y.back(), o.adj_x ? x_rows : x.back()};
  if ((o.adj_y ? y.back() : y_rows) != call.gemm.k) {
    return invalid_argument("Matrix size-incompatible: In[0]: ", x, ", In[1]: ", y, ": ", o.op,
                            ": inner dimensions differ: ", x, o.adj_x ? " (adjoint)" : "", " x ", y,
                            o.adj_y ? " (adjoint)" : "")
        .with_id("ARG-SHAPE-010");
  }
  ARGOSY_ASSIGN_OR_RETURN(call.batch, broadcast_batch(o.op, x, y, o.broadcast));
  return call;
}

Result<Call> prepare(KernelContext& c, const Options& o) {
  ARGOSY_ASSIGN_OR_RETURN(Call call, call_of(c.input(0).shape(), c.input(1).shape(), o));
  std::vector<std::int64_t> sizes(call.batch.batch.sizes().begin(), call.batch.batch.sizes().end());
  sizes.push_back(call.gemm.m);
  sizes.push_back(call.gemm.n);
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(sizes));
  ARGOSY_ASSIGN_OR_RETURN(call.out, c.output(0, shape));
  return call;
}

template <typename A, typename B, typename C>
void plain(const Call& call, KernelContext& c) {
  const Gemm& g = call.gemm;
  const A* const x = c.input(0).data<A>();
  const B* const y = c.input(1).data<B>();
  C* const out = call.out->data<C>();
  const std::int64_t rows = call.matrices() * g.m;
  parallel_for(rows, std::max<std::int64_t>(1, 20000 / (g.n * g.k + 1)), [&](std::int64_t begin, std::int64_t end) {
    while (begin < end) {
      const std::int64_t i = begin / g.m, first = begin % g.m;
      const std::int64_t last = std::min(g.m, first + end - begin);
      gemm_rows<A, B, C, true>(g, x + call.x(i) * g.m * g.k, y + call.y(i) * g.k * g.n, out + i * g.m * g.n, first,
                               last);
      begin += last - first;
    }
  });
}

class PlainBatchMatMul final : public Kernel {
 public:
  explicit PlainBatchMatMul(Options options) : options_(std::move(options)) {}
  Status run(KernelContext& c) override {
    const DType x = c.input(0).dtype(), y = c.input(1).dtype(), out = c.output_dtype(0);
    if (x == y && x == out) {
      return dispatch<NumberTypes>(x, options_.op, [&]<typename T>() -> Status {
        ARGOSY_ASSIGN_OR_RETURN(const Call call, prepare(c, options_));
        plain<T, T, T>(call, c);
        return ok_status();
      });
    }
    using Bytes = TypeList<std::int8_t, std::uint8_t>;
    if (out == DType::kInt32) {
      return dispatch<Bytes>(x, options_.op, [&]<typename A>() {
        return dispatch<Bytes>(y, options_.op, [&]<typename B>() -> Status {
          ARGOSY_ASSIGN_OR_RETURN(const Call call, prepare(c, options_));
          plain<A, B, std::int32_t>(call, c);
          return ok_status();
        });
      });
    }
    if (out == DType::kBfloat16 && (x == out || y == out)) {
      return dispatch<Bytes>(x == out ? y : x, options_.op, [&]<typename B>() -> Status {
        ARGOSY_ASSIGN_OR_RETURN(const Call call, prepare(c, options_));
        if (x == out) {
          plain<bfloat16, B, bfloat16>(call, c);
        } else {
          plain<B, bfloat16, bfloat16>(call, c);
        }
        return ok_status();
      });
    }
    return unimplemented(options_.op, ": no product of ", dtype_name(x), " and ", dtype_name(y), " as ",
                         dtype_name(out))
        .with_id("ARG-DTYPE-001");
  }
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<PlainBatchMatMul>(Options::read(init)));
  }

 private:
  Options options_;
};

template <typename T>
class FastBatchMatMul final : public Kernel, public Workspace {
 public:
  FastBatchMatMul(Options options, SharedProducts shared)
      : options_(std::move(options)), programs_(onednn::make_matmul, std::move(shared)) {}
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const Call call, prepare(c, options_));
    if (call.out->elements() == 0) return ok_status();
    const Gemm& g = call.gemm;
    if (g.k == 0) {
      plain<T, T, T>(call, c);
      return ok_status();
    }
    const T *const x = c.input(0).raw_as<T>(), *const y = c.input(1).raw_as<T>();
    T* const out = call.out->raw_as<T>();
    switch (algorithm_of(call, c.input(0).elements(), c.input(1).elements())) {
      case Algorithm::kOneProduct: return gemm(c, programs_, as_one(call), x, y, nullptr, {}, out);
      case Algorithm::kStack: return run_stack(c, call, x, y, out);
      case Algorithm::kEach: break;
    }
    for (std::int64_t i = 0; i < call.matrices(); ++i) {
      ARGOSY_RETURN_IF_ERROR(gemm(c, programs_, g, x + call.x(i) * g.m * g.k, y + call.y(i) * g.k * g.n, nullptr, {},
                                  out + i * g.m * g.n));
    }
    return ok_status();
  }
  std::optional<std::uint64_t> workspace_bytes(const KernelInit& init) override {
    const auto x = init.input_shapes[0].full(), y = init.input_shapes[1].full();
    if (!x.ok() || !y.ok()) return std::nullopt;
    const auto call = call_of(*x, *y, options_);
    if (!call.ok() || call->matrices() * call->gemm.m * call->gemm.n * call->gemm.k == 0) return 0;
    switch (algorithm_of(*call, x->elements(), y->elements())) {
      case Algorithm::kOneProduct: return gemm_scratch_bytes(programs_, as_one(*call), dtype_of<T>(), false, {});
      case Algorithm::kStack: {
        std::shared_ptr<onednn::Program> own;
        const auto program = programs_.get(stack_of(*call), own);
        return program.ok() ? (*program)->scratch_bytes() : 0;
      }
      case Algorithm::kEach: break;
    }
    return gemm_scratch_bytes(programs_, call->gemm, dtype_of<T>(), false, {});
  }

 private:
  enum class Algorithm : std::uint8_t {
    kOneProduct,  // there is one y: the rows of all x as one matrix
    kStack,       // every pair at once: the primitive spreads matrices over the team
    kEach
  };
  static Algorithm algorithm_of(const Call& call, std::int64_t x_elements, std::int64_t y_elements) {
    const Gemm& g = call.gemm;
    const std::int64_t matrices = call.matrices(), ys = y_elements / (g.k * g.n), xs = x_elements / (g.m * g.k);
    if (ys == 1 && xs == matrices && !g.transpose_a) return Algorithm::kOneProduct;
    if (call.batch.x.empty() && matrices > 1 && onednn::supports(dtype_of<T>())) return Algorithm::kStack;
    return Algorithm::kEach;
  }
  static Gemm as_one(const Call& call) {
    Gemm g = call.gemm;
    g.m *= call.matrices();
    return g;
  }
  static onednn::MatMulSpec stack_of(const Call& call) {
    return {.dtype = dtype_of<T>(),
            .transpose_a = call.gemm.transpose_a,
            .transpose_b = call.gemm.transpose_b,
            .batch = call.matrices(),
            .m = call.gemm.m,
            .n = call.gemm.n,
            .k = call.gemm.k};
  }
  Status run_stack(KernelContext& c, const Call& call, const T* x, const T* y, T* out) {
    std::shared_ptr<onednn::Program> own;
    ARGOSY_ASSIGN_OR_RETURN(onednn::Program* const program, programs_.get(stack_of(call), own));
    Buffer scratch;
    if (program->scratch_bytes() > 0) {
      ARGOSY_ASSIGN_OR_RETURN(scratch, c.scratch(program->scratch_bytes()));
    }
    void* const data[] = {const_cast<T*>(x), const_cast<T*>(y), out};
    return program->run(data, scratch.data());
  }

  Options options_;
  MatMulPrograms programs_;
};

Result<std::unique_ptr<Kernel>> make_fast(const KernelInit& init) {
  if (init.input_dtypes[0] != init.input_dtypes[1] || init.input_dtypes[0] != init.output_dtypes[0]) {
    return unimplemented("the fast kernel wants one dtype");
  }
  ARGOSY_ASSIGN_OR_RETURN(SharedProducts shared, shared_products(init));
  std::unique_ptr<Kernel> kernel;
  ARGOSY_RETURN_IF_ERROR(dispatch<FloatTypes>(init.input_dtypes[0], "fast product", [&]<typename T>() {
    kernel = std::make_unique<FastBatchMatMul<T>>(Options::read(init), std::move(shared));
    return ok_status();
  }));
  return kernel;
}

}  // namespace

void add_kernels_cpu_batch_matmul(KernelRegistry& kernels) {
  for (const char* op : {"BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"}) {
    kernels.add(op, "cpu", make_fast);
    kernels.add(op, "cpu", PlainBatchMatMul::make);
  }
}

}  // namespace argosy
