// Reference kernels of optimizer updates: every rule for every dtype, element by element in double precision. Tests
// compare other loops with them, and they run where there is no other.
#include <complex>

#include "argosy/ops/optimizer/update_loops.h"
#include "argosy/ops/optimizer/update_rules.h"

namespace argosy::optimizer {

namespace {

#include "argosy/ops/optimizer/loop_table.inc"

using Complex64 = std::complex<float>;
using Complex128 = std::complex<double>;

constexpr LoopRow kRows[] = {ARGOSY_REAL_LOOPS(float, double),          ARGOSY_REAL_LOOPS(double, double),
                             ARGOSY_REAL_LOOPS(bfloat16, double),       ARGOSY_REAL_LOOPS(float16, double),
                             ARGOSY_FIELD_LOOPS(Complex64, Complex128), ARGOSY_FIELD_LOOPS(Complex128, Complex128)};

}  // namespace

std::span<const LoopRow> reference_loops() { return kRows; }

}  // namespace argosy::optimizer
