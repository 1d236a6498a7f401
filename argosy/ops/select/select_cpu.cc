#include <array>
#include <complex>

#include "argosy/base/threads/parallel.h"
#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/elementwise/broadcast_plan.h"
#include "argosy/ops/elementwise/elementwise_kernels.h"

namespace argosy {

namespace {

// One row: each side steps (1) or stands still (0).
template <typename T>
void select_row(const bool* condition, bool condition_steps, const T* t, bool t_steps, const T* e, bool e_steps, T* z,
                std::int64_t n) {
  if (!condition_steps) {
    const T* const from = *condition ? t : e;
    const bool steps = *condition ? t_steps : e_steps;
    for (std::int64_t i = 0; i < n; ++i) z[i] = from[steps ? i : 0];
  } else if (t_steps && e_steps) {
    for (std::int64_t i = 0; i < n; ++i) z[i] = condition[i] ? t[i] : e[i];
  } else if (t_steps) {
    const T other = *e;
    for (std::int64_t i = 0; i < n; ++i) z[i] = condition[i] ? t[i] : other;
  } else if (e_steps) {
    const T other = *t;
    for (std::int64_t i = 0; i < n; ++i) z[i] = condition[i] ? other : e[i];
  } else {
    const T yes = *t;
    const T no = *e;
    for (std::int64_t i = 0; i < n; ++i) z[i] = condition[i] ? yes : no;
  }
}

template <typename T>
void select_all(const BroadcastPlan& plan, const bool* condition, const T* t, const T* e, T* z) {
  if (plan.rank == 0) return select_row(condition, false, t, false, e, false, z, 1);
  const auto steps = [&](int operand) { return plan.strides[operand][plan.rank - 1] != 0; };
  parallel_for(plan.elements, grain_of(Work::kArithmetic), [&](std::int64_t begin, std::int64_t end) {
    BroadcastCursor at(plan, begin);
    while (begin < end) {
      const std::int64_t n = std::min(end - begin, at.left());
      select_row(condition + at.offset(0), steps(0), t + at.offset(1), steps(1), e + at.offset(2), steps(2), z + begin,
                 n);
      at.advance(n);
      begin += n;
    }
  });
}

// `shape`: the output's; `condition_shape`: the condition's as it is to be broadcast.
Status run_select(KernelContext& c, const Shape& shape, const Shape& condition_shape) {
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const z, c.output(0, shape, {1, 2}));
  if (z->elements() == 0) return ok_status();
  const Shape* const shapes[] = {&condition_shape, &c.input(1).shape(), &c.input(2).shape()};
  const BroadcastPlan plan(shape, shapes);
  const auto run = [&]<typename T>() {
    select_all(plan, c.input(0).data<bool>(), c.input(1).raw_as<T>(), c.input(2).raw_as<T>(), z->raw_as<T>());
    return ok_status();
  };
  switch (z->dtype()) {
    case DType::kString: return run.operator()<std::string>();
    case DType::kResource: return run.operator()<ResourceHandle>();
    case DType::kVariant: return run.operator()<Variant>();
    default: return dispatch_size(z->dtype(), "Select", run);
  }
}

Status select(KernelContext& c) {
  const Shape& condition = c.input(0).shape();
  const Shape& shape = c.input(1).shape();
  if (!(c.input(2).shape() == shape)) {
    return invalid_argument(
        "Inputs to operation Select must have the same size and shape: Select: t and e must have one shape, not ",
        shape, " and ", c.input(2).shape());
  }
  if (condition == shape || condition.rank() == 0) return run_select(c, shape, condition);
  if (condition.rank() != 1 || shape.rank() == 0 || condition[0] != shape[0]) {
    return invalid_argument("Select: condition of shape ", condition, " does not choose among ", shape);
  }
  std::vector<std::int64_t> rows(static_cast<std::size_t>(shape.rank()), 1);
  rows[0] = condition[0];
  return run_select(c, shape, Shape(rows));
}

Status select_v2(KernelContext& c) {
  const Shape& condition = c.input(0).shape();
  const Shape& t = c.input(1).shape();
  const Shape& e = c.input(2).shape();
  if (t == e && (condition == t || condition.rank() == 0)) return run_select(c, t, condition);
  ARGOSY_ASSIGN_OR_RETURN(const Shape values, broadcast(t, e));
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, broadcast(condition, values));
  return run_select(c, shape, condition);
}

// NaN stays; where the limits cross, the lower one wins. Complex numbers are held part by part.
template <typename T>
T clip(T x, T low, T high) {
  const T held = x > high ? high : x;
  return held < low ? low : held;
}
template <typename P>
std::complex<P> clip(std::complex<P> x, std::complex<P> low, std::complex<P> high) {
  return {clip(x.real(), low.real(), high.real()), clip(x.imag(), low.imag(), high.imag())};
}

Status clip_by_value(KernelContext& c) {
  const Tensor& x = c.input(0);
  for (const int i : {1, 2}) {
    if (c.input(i).shape().rank() != 0 && !(c.input(i).shape() == x.shape())) {
      return invalid_argument("ClipByValue: a limit of shape ", c.input(i).shape(),
                              " must be a scalar or have the shape ", x.shape());
    }
  }
  const bool low_steps = c.input(1).shape() == x.shape();
  const bool high_steps = c.input(2).shape() == x.shape();
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape(), {0}));
  return dispatch<NumberTypes>(x.dtype(), "ClipByValue", [&]<typename T>() {
    const T* const from = x.data<T>();
    const T* const low = c.input(1).data<T>();
    const T* const high = c.input(2).data<T>();
    T* const to = y->data<T>();
    parallel_for(x.elements(), grain_of(Work::kArithmetic), [&](std::int64_t begin, std::int64_t end) {
      if (!low_steps && !high_steps) {
        const T least = *low;
        const T most = *high;
        for (std::int64_t i = begin; i < end; ++i) to[i] = clip(from[i], least, most);
      } else {
        for (std::int64_t i = begin; i < end; ++i) {
          to[i] = clip(from[i], low[low_steps ? i : 0], high[high_steps ? i : 0]);
        }
      }
    });
    return ok_status();
  });
}

}  // namespace

void add_kernels_cpu_select(KernelRegistry& kernels) {
  kernels.add("Select", "cpu", select);
  kernels.add("SelectV2", "cpu", select_v2);
  kernels.add("ClipByValue", "cpu", clip_by_value);
}

}  // namespace argosy
