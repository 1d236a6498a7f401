#include <algorithm>

#include "argosy/base/threads/parallel.h"
#include "argosy/op/kernel/kernel.h"

namespace argosy {

namespace {

using Searched = TypeList<float, double, bfloat16, float16, std::int32_t, std::int64_t, std::uint8_t, std::int8_t,
                          std::int16_t, std::uint16_t, std::uint32_t, std::uint64_t, bool>;
using Positions = TypeList<std::int64_t, std::int32_t, std::int16_t, std::uint16_t>;

// NaN is never chosen while there is a number.
template <bool largest, typename T>
bool beats(T x, T best) {
  return (largest ? x > best : x < best) || (best != best && x == x);
}

// out[o][i] = where x[o][·][i] is most extreme; the first of equals.
template <bool largest, typename T, typename P>
void search(const T* x, std::int64_t outer, std::int64_t count, std::int64_t inner, P* out) {
  parallel_for(outer, std::max<std::int64_t>(1, 16384 / (count * inner)), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t o = begin; o < end; ++o) {
      for (std::int64_t i = 0; i < inner; ++i) {
        const T* const line = x + o * count * inner + i;
        T best = line[0];
        std::int64_t where = 0;
        for (std::int64_t r = 1; r < count; ++r) {
          if (!beats<largest>(line[r * inner], best)) continue;
          best = line[r * inner];
          where = r;
        }
        out[o * inner + i] = static_cast<P>(where);
      }
    }
  });
}

template <bool largest>
Status arg(KernelContext& c) {
  constexpr std::string_view kOp = largest ? "ArgMax" : "ArgMin";
  const Tensor& x = c.input(0);
  const Tensor& dimension = c.input(1);
  if (dimension.shape().rank() != 0) {
    return invalid_argument(kOp, ": dimension must be one number, not of shape ", dimension.shape());
  }
  std::int64_t axis = 0;
  if (dimension.dtype() == DType::kInt16) {
    axis = *dimension.data<std::int16_t>();
  } else {
    ARGOSY_ASSIGN_OR_RETURN(axis, to_int64(dimension, kOp));
  }
  if (axis < -x.shape().rank() || axis >= x.shape().rank()) {
    return invalid_argument("Expected dimension in the range [", -x.shape().rank(), ", ", x.shape().rank(),
                            "), but got ", axis, ": ", kOp, ": axis ", axis, " is outside");
  }
  ARGOSY_ASSIGN_OR_RETURN(const int normal, normalize_axis(axis, x.shape().rank(), kOp));
  const std::int64_t count = x.shape()[normal];
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape().removed(normal)));
  if (count == 0) return invalid_argument(kOp, ": axis ", normal, " is empty in shape ", x.shape());
  if (y->elements() == 0) return ok_status();
  std::int64_t outer = 1;
  for (int i = 0; i < normal; ++i) outer *= x.shape()[i];
  const std::int64_t inner = y->elements() / outer;
  return dispatch<Searched>(x.dtype(), kOp, [&]<typename T>() {
    return dispatch<Positions>(y->dtype(), kOp, [&]<typename P>() {
      search<largest>(x.data<T>(), outer, count, inner, y->data<P>());
      return ok_status();
    });
  });
}

}  // namespace

void add_kernels_cpu_arg(KernelRegistry& kernels) {
  kernels.add("ArgMax", "cpu", arg<true>);
  kernels.add("ArgMin", "cpu", arg<false>);
}

}  // namespace argosy
