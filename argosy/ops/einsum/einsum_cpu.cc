// Einsum as matrix products (einsum_plan.h).
#include <algorithm>
#include <complex>

#include "argosy/base/threads/parallel.h"
#include "argosy/op/kernel/workspace.h"
#include "argosy/ops/einsum/einsum_plan.h"
#include "argosy/ops/matmul/gemm.h"

namespace argosy {

namespace {

using einsum_parts::Axes;
using einsum_parts::Plan;
using Types =
    TypeList<float, double, bfloat16, float16, std::int32_t, std::int64_t, std::complex<float>, std::complex<double>>;

// Calls fn(offset, i) for the elements of the axes in row-major order.
template <typename Fn>
void walk(const Axes& axes, Fn&& fn) {
  const std::int64_t n = product(axes);
  if (n == 0) return;
  std::vector<std::int64_t> at(axes.size(), 0);
  std::int64_t offset = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    fn(offset, i);
    for (std::size_t k = axes.size(); k-- > 0;) {
      offset += axes[k].stride;
      if (++at[k] < axes[k].size) break;
      offset -= axes[k].stride * axes[k].size;
      at[k] = 0;
    }
  }
}

// The elements of matrices: a copy, or the input's memory if they are in order there.
template <typename T>
struct Matrices {
  const T* data = nullptr;
  Buffer memory;
};

// Copies the operand in the order of `outer`, each element summed over `inner`.
template <typename T>
Result<Matrices<T>> arrange(KernelContext& c, const T* from, const Axes& outer, const Axes& inner) {
  if (inner.empty() && row_major(outer)) return Matrices<T>{from, {}};
  Matrices<T> m;
  ARGOSY_ASSIGN_OR_RETURN(m.memory, c.scratch(static_cast<std::size_t>(product(outer)) * sizeof(T)));
  T* const to = reinterpret_cast<T*>(m.memory.data());
  m.data = to;
  using Sum = typename internal::Accumulator<T>::type;
  walk(outer, [&](std::int64_t offset, std::int64_t i) {
    if (inner.empty()) {
      to[i] = from[offset];
      return;
    }
    Sum sum{};
    walk(inner, [&](std::int64_t more, std::int64_t) { sum += static_cast<Sum>(from[offset + more]); });
    to[i] = static_cast<T>(sum);
  });
  return m;
}

class Einsum final : public Kernel, public Workspace {
 public:
  Einsum(std::string equation, bool plain) : equation_(std::move(equation)), plain_(plain) {}
  template <bool kPlain>
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Einsum>(init.attrs.get_string("equation"), kPlain));
  }

  Status run(KernelContext& c) override {
    std::vector<const Shape*> shapes;
    for (int i = 0; i < c.num_inputs(); ++i) shapes.push_back(&c.input(i).shape());
    ARGOSY_ASSIGN_OR_RETURN(const Plan plan, einsum_parts::plan(equation_, shapes));
    return dispatch<Types>(c.input(0).dtype(), "Einsum", [&]<typename T>() -> Status {
      ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, plan.output));
      if (y->elements() == 0) return ok_status();
      return multiply<T>(c, plan, *y);
    });
  }

  std::optional<std::uint64_t> workspace_bytes(const KernelInit& init) override {
    std::vector<Shape> full;
    for (const PartialShape& shape : init.input_shapes) {
      if (!shape.is_full()) return std::nullopt;
      full.push_back(*shape.full());
    }
    std::vector<const Shape*> shapes;
    for (const Shape& shape : full) shapes.push_back(&shape);
    const auto plan = einsum_parts::plan(equation_, shapes);
    if (!plan.ok() || plan->output.elements() == 0) return 0;
    const DType dtype = init.input_dtypes[0];
    std::int64_t elements = 0;
    for (int i = 0; i < plan->operands; ++i) {
      if (!plan->own[i].empty() || !row_major(plan->order[i])) elements += product(plan->order[i]);
    }
    if (plan->operands > 1 && !plan->in_order()) elements += product(plan->target);
    std::uint64_t bytes = static_cast<std::uint64_t>(elements) * element_bytes(dtype);
    const Gemm g{.transpose_b = plan->transposed, .m = plan->m, .n = plan->n, .k = plan->k};
    const bool multiplies = plan->operands > 1 && !plan->first.empty() && g.m * g.n * g.k > 0;
    if (multiplies && is_floating(dtype) && !plain_) bytes += gemm_scratch_bytes(programs_, g, dtype, false, {});
    return bytes;
  }

 private:
  template <typename T>
  Status multiply(KernelContext& c, const Plan& plan, const Tensor& y) {
    ARGOSY_ASSIGN_OR_RETURN(const auto a, arrange(c, c.input(0).data<T>(), plan.order[0], plan.own[0]));
    if (plan.operands == 1) return place(a.data, plan, y);
    ARGOSY_ASSIGN_OR_RETURN(const auto b, arrange(c, c.input(1).data<T>(), plan.order[1], plan.own[1]));
    const Gemm g{.transpose_b = plan.transposed, .m = plan.m, .n = plan.n, .k = plan.k};
    const bool in_order = plan.in_order();
    T* to = y.data<T>();
    Buffer memory;
    if (!in_order) {
      ARGOSY_ASSIGN_OR_RETURN(memory, c.scratch(static_cast<std::size_t>(product(plan.target)) * sizeof(T)));
      to = reinterpret_cast<T*>(memory.data());
    }
    for (std::size_t i = 0; i < plan.first.size(); ++i) {
      ARGOSY_RETURN_IF_ERROR(
          one(c, g, a.data + plan.first[i], b.data + plan.second[i], to + static_cast<std::int64_t>(i) * g.m * g.n));
    }
    return in_order ? ok_status() : place(to, plan, y);
  }

  template <typename T>
  Status one(KernelContext& c, const Gemm& g, const T* a, const T* b, T* to) {
    if constexpr (is_floating(dtype_of<T>())) {
      if (!plain_ && g.k > 0) return gemm(c, programs_, g, a, b, nullptr, FusedOps{}, to);
    }
    const std::int64_t grain = std::max<std::int64_t>(1, 20000 / (g.n * g.k + 1));
    parallel_for(g.m, grain,
                 [&](std::int64_t begin, std::int64_t end) { gemm_rows<T, T, T>(g, a, b, to, begin, end); });
    return ok_status();
  }

  template <typename T>
  static Status place(const T* from, const Plan& plan, const Tensor& y) {
    T* const to = y.data<T>();
    if (!plan.fills_output()) std::fill_n(to, y.elements(), T{});  // beside the diagonal
    walk(plan.target, [&](std::int64_t offset, std::int64_t i) { to[offset] = from[i]; });
    return ok_status();
  }

  const std::string equation_;
  const bool plain_;
  MatMulPrograms programs_{onednn::make_matmul};
};

}  // namespace

void add_kernels_cpu_einsum(KernelRegistry& kernels) {
  kernels.add("Einsum", "cpu", Einsum::make<false>);
  kernels.add("Einsum", "cpu", Einsum::make<true>);
}

}  // namespace argosy
