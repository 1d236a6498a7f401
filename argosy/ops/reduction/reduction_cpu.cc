#include <algorithm>
#include <cmath>
#include <cstring>

#include "argosy/base/threads/parallel.h"
#include "argosy/op/kernel/workspace.h"
#include "argosy/ops/elementwise/elementwise_kernels.h"
#include "argosy/ops/reduction/reduction_loops.h"
#include "argosy/ops/reduction/reduction_plan.h"

namespace argosy {

void add_kernels_cpu_reduction_reference(KernelRegistry& kernels);
void add_kernels_cpu_arg(KernelRegistry& kernels);

namespace {

using reduction::Fold;
using reduction::Group;
using reduction::ReductionPlan;

bool is_half(DType d) { return d == DType::kBfloat16 || d == DType::kFloat16; }

// What a fold of nothing gives.
template <typename T>
T nothing(Fold fold) {
  using Limits = std::numeric_limits<T>;
  switch (fold) {
    case Fold::kProduct: return T(1);
    case Fold::kMaximum: return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    case Fold::kMinimum: return Limits::has_infinity ? Limits::infinity() : Limits::max();
    case Fold::kAnd: return T(1);
    default: return T(0);
  }
}

using LoopTypes = TypeList<float, double, std::int32_t, std::int64_t>;

struct Reduction {
  Fold fold;
  bool mean = false;
  bool root = false;
};

Status finish(const Reduction& r, DType dtype, std::int64_t count, void* y, std::int64_t n) {
  if (!r.mean && !r.root) return ok_status();
  return dispatch<LoopTypes>(dtype, "reduction", [&]<typename T>() {
    T* const out = static_cast<T*>(y);
    for (std::int64_t i = 0; i < n; ++i) {
      if (r.mean) out[i] = static_cast<T>(out[i] / static_cast<T>(count));
      if (r.root) out[i] = static_cast<T>(std::sqrt(out[i]));
    }
    return ok_status();
  });
}

Status fill_empty(const Reduction& r, DType dtype, Tensor& y) {
  if (dtype == DType::kBool) {
    std::memset(y.raw(), r.fold == Fold::kAnd ? 1 : 0, y.bytes());
    return ok_status();
  }
  return dispatch<LoopTypes>(dtype, "reduction", [&]<typename T>() {
    T value = nothing<T>(r.fold);
    if (r.mean && std::numeric_limits<T>::has_quiet_NaN) value = std::numeric_limits<T>::quiet_NaN();
    std::fill_n(y.data<T>(), y.elements(), value);
    return ok_status();
  });
}

// Goes group after group, the innermost first. fold(outer, size, inner, is it the last?) folds one.
template <typename OneFold>
Status for_each_fold(std::vector<Group> groups, const OneFold& fold) {
  std::int64_t inner = 1;
  while (!groups.empty()) {
    const Group last = groups.back();
    groups.pop_back();
    if (!last.folded) {
      inner *= last.size;
      continue;
    }
    std::int64_t outer = 1;
    bool more = false;
    for (const Group& g : groups) {
      outer *= g.size;
      more = more || g.folded;
    }
    ARGOSY_RETURN_IF_ERROR(fold(outer, last.size, inner, !more));
  }
  return ok_status();
}

// Results between two groups lie in scratch memory.
Status fold_groups(Fold fold, DType dtype, const void* x, std::vector<Group> groups, void* y, Allocator& allocator) {
  Buffer held;
  return for_each_fold(
      std::move(groups), [&](std::int64_t outer, std::int64_t size, std::int64_t inner, bool last) -> Status {
        Buffer next;
        if (!last) {
          ARGOSY_ASSIGN_OR_RETURN(next,
                                  allocator.allocate(static_cast<std::size_t>(outer * inner) * element_bytes(dtype)));
        }
        void* const to = last ? y : next.data();
        ARGOSY_RETURN_IF_ERROR(reduction::fold_middle(fold, dtype, x, outer, size, inner, to, allocator));
        fold = reduction::next(fold);
        x = to;
        held = std::move(next);
        return ok_status();
      });
}

std::uint64_t fold_groups_bytes(const std::vector<Group>& groups, std::size_t bytes) {
  std::uint64_t held = 0, most = 0;
  const Status counted =
      for_each_fold(groups, [&](std::int64_t outer, std::int64_t size, std::int64_t inner, bool last) {
        const std::uint64_t next = last ? 0 : static_cast<std::uint64_t>(outer * inner) * bytes;
        most = std::max(most, held + next + reduction::fold_middle_bytes(bytes, outer, size, inner));
        held = next;
        return ok_status();
      });
  static_cast<void>(counted);
  return most;
}

class ReductionKernel final : public Kernel, public Workspace {
 public:
  ReductionKernel(std::string_view op, Reduction reduction, DType dtype, bool keep_dims)
      : op_(op),
        reduction_(reduction),
        half_(is_half(dtype) ? dtype : DType::kInvalid),
        dtype_(is_half(dtype) ? DType::kFloat32 : dtype),
        keep_dims_(keep_dims) {}

  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    ARGOSY_ASSIGN_OR_RETURN(const auto axes, reduction::axis_set(c.input(1), x.shape().rank(), op_));
    const ReductionPlan plan(x.shape(), axes, keep_dims_);
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, plan.output));
    if (y->elements() == 0) return ok_status();
    if (half_ != DType::kInvalid) return through_float(c, plan, x, *y);
    if (plan.count == 0) return fill_empty(reduction_, dtype_, *y);
    return fold(c, plan, x.raw(), y->raw());
  }
  std::optional<std::uint64_t> workspace_bytes(const KernelInit& init) override {
    const auto x = init.input_shapes[0].full();
    const Tensor* const at = init.constant(1);
    if (!x.ok() || at == nullptr) return std::nullopt;
    const auto axes = reduction::axis_set(*at, x->rank(), op_);
    if (!axes.ok()) return 0;
    const ReductionPlan plan(*x, *axes, keep_dims_);
    const std::int64_t n = plan.output.elements();
    if (n == 0) return 0;
    const auto wide = half_ == DType::kInvalid ? 0 : static_cast<std::uint64_t>(x->elements() + n) * sizeof(float);
    if (plan.count == 0) return wide;
    return wide + fold_groups_bytes(plan.groups, element_bytes(dtype_));
  }

 private:
  Status fold(KernelContext& c, const ReductionPlan& plan, const void* x, void* y) const {
    const std::int64_t n = plan.output.elements();
    const bool any = std::any_of(plan.groups.begin(), plan.groups.end(), [](const Group& g) { return g.folded; });
    if (!any && reduction_.fold == Fold::kSumOfSquares) {  // of one element each
      ARGOSY_RETURN_IF_ERROR(reduction::fold_middle(reduction_.fold, dtype_, x, n, 1, 1, y, c.allocator()));
    } else if (!any) {
      std::memcpy(y, x, static_cast<std::size_t>(n) * element_bytes(dtype_));
    } else {
      ARGOSY_RETURN_IF_ERROR(fold_groups(reduction_.fold, dtype_, x, plan.groups, y, c.allocator()));
    }
    return finish(reduction_, dtype_, plan.count, y, n);
  }

  // 16-bit floats are folded in float32 and rounded once.
  Status through_float(KernelContext& c, const ReductionPlan& plan, const Tensor& x, Tensor& y) const {
    const std::int64_t n = y.elements();
    ARGOSY_ASSIGN_OR_RETURN(const Buffer wide, c.scratch(static_cast<std::size_t>(x.elements() + n) * sizeof(float)));
    auto* const xs = reinterpret_cast<float*>(wide.data());
    float* const ys = xs + x.elements();
    parallel_for(x.elements(), grain_of(Work::kMove), [&](std::int64_t begin, std::int64_t end) {
      widen(half_, x.raw_as<std::uint16_t>() + begin, xs + begin, end - begin);
    });
    if (plan.count == 0) {
      Tensor t(DType::kFloat32, plan.output, Buffer::borrow(ys, static_cast<std::size_t>(n) * sizeof(float)));
      ARGOSY_RETURN_IF_ERROR(fill_empty(reduction_, dtype_, t));
    } else {
      ARGOSY_RETURN_IF_ERROR(fold(c, plan, xs, ys));
    }
    narrow(half_, ys, y.raw(), n);
    return ok_status();
  }

  const std::string op_;
  const Reduction reduction_;
  const DType half_;   // the 16-bit dtype folded in float32, or kInvalid
  const DType dtype_;  // what is folded in
  const bool keep_dims_;
};

struct Named {
  std::string_view op;
  Reduction reduction;
};
constexpr Named kReductions[] = {
    {"Sum", {Fold::kSum}},     {"Mean", {Fold::kSum, true}}, {"Prod", {Fold::kProduct}},
    {"Max", {Fold::kMaximum}}, {"Min", {Fold::kMinimum}},    {"EuclideanNorm", {Fold::kSumOfSquares, false, true}},
    {"All", {Fold::kAnd}},     {"Any", {Fold::kOr}},
};

Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
  const auto* const named = std::find_if(std::begin(kReductions), std::end(kReductions),
                                         [&](const Named& n) { return n.op == init.op.name; });
  const DType dtype = init.input_dtypes[0];
  const Reduction& r = named->reduction;
  // In double, or in 64 bits: the reference's.
  const bool wider = (r.root && is_integer(dtype)) || (r.mean && is_integer(dtype) && element_bytes(dtype) < 8);
  if (wider || find_loops(r.fold, is_half(dtype) ? DType::kFloat32 : dtype).rows == nullptr) {
    return unimplemented("no loops for ", dtype_name(dtype));
  }
  return std::unique_ptr<Kernel>(
      std::make_unique<ReductionKernel>(init.op.name, r, dtype, init.attrs.get_bool("keep_dims")));
}

Status l2_loss(KernelContext& c) {
  const Tensor& x = c.input(0);
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {}));
  const std::int64_t n = x.elements();
  const auto halved = [&]<typename T>(const void* from, T* to) -> Status {
    *to = 0;
    if (n > 0) {
      ARGOSY_RETURN_IF_ERROR(
          reduction::fold_middle(Fold::kSumOfSquares, dtype_of<T>(), from, 1, n, 1, to, c.allocator()));
    }
    *to /= 2;
    return ok_status();
  };
  if (x.dtype() == DType::kFloat32) return halved(x.raw(), y->data<float>());
  if (x.dtype() == DType::kFloat64) return halved(x.raw(), y->data<double>());
  if (!is_half(x.dtype())) return unsupported_dtype("L2Loss", x.dtype());
  ARGOSY_ASSIGN_OR_RETURN(const Buffer wide, c.scratch(static_cast<std::size_t>(n) * sizeof(float)));
  auto* const xs = reinterpret_cast<float*>(wide.data());
  widen(x.dtype(), x.raw(), xs, n);
  float result = 0;
  ARGOSY_RETURN_IF_ERROR(halved(xs, &result));
  narrow(x.dtype(), &result, y->raw(), 1);
  return ok_status();
}

std::optional<std::uint64_t> l2_loss_bytes(const KernelInit& init) {
  const auto x = init.input_shapes[0].full();
  if (!x.ok()) return std::nullopt;
  const std::int64_t n = x->elements();
  const bool half = is_half(init.input_dtypes[0]);
  const std::size_t bytes = half ? sizeof(float) : element_bytes(init.input_dtypes[0]);
  const std::uint64_t wide = half ? static_cast<std::uint64_t>(n) * bytes : 0;
  return n == 0 ? 0 : wide + reduction::fold_middle_bytes(bytes, 1, n, 1);
}

}  // namespace

void add_kernels_cpu_reduction(KernelRegistry& kernels) {
  for (const Named& n : kReductions) kernels.add(std::string(n.op), "cpu", make);
  kernels.add("L2Loss", "cpu", with_workspace<l2_loss, l2_loss_bytes>);
  add_kernels_cpu_reduction_reference(kernels);
  add_kernels_cpu_arg(kernels);
}

}  // namespace argosy
