#include <cmath>
#include <complex>

#include "argosy/base/threads/parallel.h"
#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/elementwise/broadcast_plan.h"
#include "argosy/ops/elementwise/elementwise_kernels.h"

namespace argosy {

namespace {

using Parts = TypeList<float, double>;

Status complex_of_parts(KernelContext& c) {
  const Tensor& real = c.input(0);
  const Tensor& imag = c.input(1);
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, broadcast(real.shape(), imag.shape()));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const z, c.output(0, shape));
  return dispatch<Parts>(real.dtype(), "Complex", [&]<typename T>() {
    const Shape* const shapes[] = {&real.shape(), &imag.shape()};
    const BroadcastPlan plan(shape, shapes);
    parallel_for(plan.elements, grain_of(Work::kArithmetic), [&](std::int64_t begin, std::int64_t end) {
      BroadcastCursor at(plan, begin);
      for (std::int64_t i = begin; i < end; ++i) {
        z->raw_as<std::complex<T>>()[i] = {real.raw_as<T>()[at.offset(0)], imag.raw_as<T>()[at.offset(1)]};
        at.advance(1);
      }
    });
    return ok_status();
  });
}

// F::call of each complex number: a real one, or another complex one.
template <class F>
Status part(KernelContext& c) {
  const Tensor& x = c.input(0);
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape(), {0}));
  const auto run = [&]<typename T>(T) {
    using Out = decltype(F::call(std::complex<T>()));
    const auto* const from = x.data<std::complex<T>>();
    Out* const to = y->data<Out>();
    parallel_for(x.elements(), grain_of(Work::kFunction), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) to[i] = F::call(from[i]);
    });
    return ok_status();
  };
  if (x.dtype() == DType::kComplex64) return run(0.0f);
  if (x.dtype() == DType::kComplex128) return run(0.0);
  return unsupported_dtype("complex part", x.dtype());
}

#define ARGOSY_PART(Name, function)              \
  struct Name {                                  \
    template <typename T>                        \
    static auto call(const std::complex<T>& x) { \
      return function(x);                        \
    }                                            \
  };
ARGOSY_PART(Length, std::abs)
ARGOSY_PART(Real, std::real)
ARGOSY_PART(Imag, std::imag)
ARGOSY_PART(Conj, std::conj)
ARGOSY_PART(Angle, std::arg)
#undef ARGOSY_PART

}  // namespace

void add_kernels_cpu_complex(KernelRegistry& kernels) {
  kernels.add("Complex", "cpu", complex_of_parts);
  kernels.add("ComplexAbs", "cpu", part<Length>);
  kernels.add("Real", "cpu", part<Real>);
  kernels.add("Imag", "cpu", part<Imag>);
  kernels.add("Conj", "cpu", part<Conj>, {{"T", {DType::kComplex64, DType::kComplex128}}});  // of variants: ops/csr
  kernels.add("Angle", "cpu", part<Angle>);
}

}  // namespace argosy
