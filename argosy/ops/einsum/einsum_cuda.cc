// Einsum on a GPU: a copy engine moves elements, folds compute sums, and batched matrix products the rest
// (einsum_plan.h).
#include "argosy/ops/einsum/einsum_plan.h"
#include "argosy/ops/layout/strided/gpu_copy_engine.h"
#include "argosy/ops/matmul/gpu_gemm.h"
#include "argosy/ops/reduction/reduce_gpu.h"

namespace argosy {

namespace {

using einsum_parts::Axes;
using einsum_parts::Plan;

// The elements of matrices: a copy, or the input's memory if they are in order there.
struct Matrices {
  const void* data = nullptr;
  Buffer memory;
};

// The copy from an operand with these axes to a row-major tensor (`gather`), or the reverse.
Region region_of(const Axes& axes, bool gather) {
  Region region;
  std::int64_t dense = product(axes);
  for (const auto& a : axes) {
    dense /= std::max<std::int64_t>(a.size, 1);
    region.add(a.size, gather ? dense : a.stride, gather ? a.stride : dense);
  }
  return region;
}

Result<Matrices> arrange(KernelContext& c, const Tensor& from, const Axes& outer, const Axes& inner) {
  if (inner.empty() && row_major(outer)) return Matrices{from.raw(), {}};
  Axes all = outer;
  all.insert(all.end(), inner.begin(), inner.end());
  const std::size_t bytes = element_bytes(from.dtype());
  const std::int64_t n = product(outer), each = product(inner);
  Matrices m;
  m.data = from.raw();
  if (!row_major(all)) {
    ARGOSY_ASSIGN_OR_RETURN(m.memory, c.scratch(static_cast<std::size_t>(n * each) * bytes));
    cuda::GpuCopyEngine copy_engine(c);
    copy_engine.move(m.memory.data(), from.raw(), bytes, region_of(all, true));
    ARGOSY_RETURN_IF_ERROR(copy_engine.status());
    m.data = m.memory.data();
  }
  if (inner.empty()) return m;
  ARGOSY_ASSIGN_OR_RETURN(Buffer sums, c.scratch(static_cast<std::size_t>(n) * bytes));
  ARGOSY_RETURN_IF_ERROR(cuda::reduce_on_gpu(c, "sum", from.dtype(), m.data, {{n, false}, {each, true}}, sums.data()));
  return Matrices{sums.data(), std::move(sums)};
}

// Returns the distance between the matrices of a batch; nullopt if it is not constant.
std::optional<std::int64_t> step_of(const std::vector<std::int64_t>& begins) {
  const std::int64_t step = begins.size() < 2 ? 0 : begins[1] - begins[0];
  for (std::size_t i = 1; i < begins.size(); ++i) {
    if (begins[i] - begins[i - 1] != step) return std::nullopt;
  }
  return step;
}

Status multiply(KernelContext& c, const Plan& plan, DType dtype, const void* a, const void* b, void* to) {
  const Gemm g{.transpose_b = plan.transposed, .m = plan.m, .n = plan.n, .k = plan.k};
  const auto batch = static_cast<std::int64_t>(plan.first.size());
  const auto first = step_of(plan.first), second = step_of(plan.second);
  if (first && second) return cuda::gemm_on_gpu(c, dtype, g, {batch, *first, *second}, a, b, nullptr, {}, to);
  const auto bytes = static_cast<std::int64_t>(element_bytes(dtype));
  const auto at = [&](const void* base, std::int64_t elements) {
    return static_cast<const std::byte*>(base) + elements * bytes;
  };
  for (std::size_t i = 0; i < plan.first.size(); ++i) {
    void* const out = static_cast<std::byte*>(to) + static_cast<std::int64_t>(i) * g.m * g.n * bytes;
    ARGOSY_RETURN_IF_ERROR(
        cuda::gemm_on_gpu(c, dtype, g, {}, at(a, plan.first[i]), at(b, plan.second[i]), nullptr, {}, out));
  }
  return ok_status();
}

Status place(KernelContext& c, const void* from, const Plan& plan, const Tensor& y) {
  cuda::GpuCopyEngine copy_engine(c);
  const Bytes16 zero{};
  const std::size_t bytes = element_bytes(y.dtype());
  if (!plan.fills_output()) copy_engine.fill(y.raw(), y.elements(), bytes, &zero);  // beside the diagonal
  copy_engine.move(y.raw(), from, bytes, region_of(plan.target, false));
  return copy_engine.status();
}

Status einsum(KernelContext& c, const AttrMap& attrs) {
  std::vector<const Shape*> shapes;
  for (int i = 0; i < c.num_inputs(); ++i) shapes.push_back(&c.input(i).shape());
  ARGOSY_ASSIGN_OR_RETURN(const Plan plan, einsum_parts::plan(attrs.get_string("equation"), shapes));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, plan.output));
  if (y->elements() == 0) return ok_status();
  ARGOSY_ASSIGN_OR_RETURN(const Matrices a, arrange(c, c.input(0), plan.order[0], plan.own[0]));
  if (plan.operands == 1) return place(c, a.data, plan, *y);
  ARGOSY_ASSIGN_OR_RETURN(const Matrices b, arrange(c, c.input(1), plan.order[1], plan.own[1]));
  if (plan.in_order()) return multiply(c, plan, y->dtype(), a.data, b.data, y->raw());
  ARGOSY_ASSIGN_OR_RETURN(const Buffer products, c.scratch(y->bytes() / static_cast<std::size_t>(y->elements()) *
                                                           static_cast<std::size_t>(product(plan.target))));
  ARGOSY_RETURN_IF_ERROR(multiply(c, plan, y->dtype(), a.data, b.data, products.data()));
  return place(c, products.data(), plan, *y);
}

}  // namespace

void add_kernels_cuda_einsum(KernelRegistry& kernels) {
  using enum DType;
  std::vector<DType> numbers = cuda::kFloatingTypes;
  numbers.insert(numbers.end(), {kInt64, kComplex64, kComplex128});
  kernels.add("Einsum", "cuda", cuda::make_launching<einsum>, {{"T", numbers}});
  kernels.add("Einsum", "cuda", cuda::make_on_host, {{"T", {kInt32}}});
}

}  // namespace argosy
