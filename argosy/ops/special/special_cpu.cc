#include <array>

#include "argosy/base/threads/parallel.h"
#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/elementwise/broadcast_plan.h"
#include "argosy/ops/special/special_functions.h"

namespace argosy {

namespace {

constexpr std::int64_t kGrain = 256;  // tens of nanoseconds an element
using Unary = double (*)(double);
using Binary = double (*)(double, double);

template <Unary f>
Status unary(KernelContext& c) {
  const Tensor& x = c.input(0);
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape(), {0}));
  return dispatch<FloatTypes>(x.dtype(), "special function", [&]<typename T>() {
    const T* const from = x.data<T>();
    T* const to = y->data<T>();
    parallel_for(x.elements(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) to[i] = static_cast<T>(f(static_cast<double>(from[i])));
    });
    return ok_status();
  });
}

// fn(values of N inputs) over the output's elements; inputs broadcast to it.
template <std::size_t N, typename Fn>
Status broadcasting(KernelContext& c, const Shape& shape, Fn&& fn) {
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  std::array<const Shape*, N> shapes;
  for (std::size_t i = 0; i < N; ++i) shapes[i] = &c.input(static_cast<int>(i)).shape();
  const BroadcastPlan plan(shape, shapes);
  return dispatch<FloatTypes>(y->dtype(), "special function", [&]<typename T>() {
    std::array<const T*, N> from;
    for (std::size_t i = 0; i < N; ++i) from[i] = c.input(static_cast<int>(i)).data<T>();
    T* const to = y->data<T>();
    parallel_for(shape.elements(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      BroadcastCursor at(plan, begin);
      for (std::int64_t i = begin; i < end; ++i) {
        std::array<double, N> values;
        for (std::size_t k = 0; k < N; ++k) {
          values[k] = static_cast<double>(from[k][at.offset(static_cast<int>(k))]);
        }
        to[i] = static_cast<T>(fn(values));
        at.advance(1);
      }
    });
    return ok_status();
  });
}

template <Binary f>
Status binary(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, broadcast(c.input(0).shape(), c.input(1).shape()));
  return broadcasting<2>(c, shape, [](const std::array<double, 2>& v) { return f(v[0], v[1]); });
}

Status betainc(KernelContext& c) {
  Shape shape;
  for (int i = 0; i < 3; ++i) {
    const Shape& other = c.input(i).shape();
    if (other.rank() == 0) continue;
    if (shape.rank() > 0 && !(shape == other)) {
      return invalid_argument("Betainc: a, b and x must have one shape, or be scalars, not ", c.input(0).shape(), ", ",
                              c.input(1).shape(), " and ", c.input(2).shape());
    }
    shape = other;
  }
  return broadcasting<3>(c, shape,
                         [](const std::array<double, 3>& v) { return special::beta_lower(v[0], v[1], v[2]); });
}

}  // namespace

void add_kernels_cpu_special(KernelRegistry& kernels) {
  kernels.add("Erfinv", "cpu", unary<special::erf_inverse>);
  kernels.add("Ndtri", "cpu", unary<special::normal_quantile>);
  kernels.add("BesselI0", "cpu", unary<special::bessel_i0>);
  kernels.add("BesselI0e", "cpu", unary<special::bessel_i0e>);
  kernels.add("BesselI1", "cpu", unary<special::bessel_i1>);
  kernels.add("BesselI1e", "cpu", unary<special::bessel_i1e>);
  kernels.add("BesselJ0", "cpu", unary<special::bessel_j0>);
  kernels.add("BesselJ1", "cpu", unary<special::bessel_j1>);
  kernels.add("BesselK0", "cpu", unary<special::bessel_k0>);
  kernels.add("BesselK0e", "cpu", unary<special::bessel_k0e>);
  kernels.add("BesselK1", "cpu", unary<special::bessel_k1>);
  kernels.add("BesselK1e", "cpu", unary<special::bessel_k1e>);
  kernels.add("BesselY0", "cpu", unary<special::bessel_y0>);
  kernels.add("BesselY1", "cpu", unary<special::bessel_y1>);
  kernels.add("Dawsn", "cpu", unary<special::dawson>);
  kernels.add("Expint", "cpu", unary<special::exponential_integral>);
  kernels.add("FresnelCos", "cpu", unary<special::fresnel_cos>);
  kernels.add("FresnelSin", "cpu", unary<special::fresnel_sin>);
  kernels.add("Spence", "cpu", unary<special::spence>);
  kernels.add("Igamma", "cpu", binary<special::gamma_lower>);
  kernels.add("Igammac", "cpu", binary<special::gamma_upper>);
  kernels.add("IgammaGradA", "cpu", binary<special::gamma_lower_slope>);
  kernels.add("RandomGammaGrad", "cpu", binary<special::gamma_sample_slope>);
  kernels.add("Betainc", "cpu", betainc);
}

}  // namespace argosy
