#include "argosy/ops/optimizer/update_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "argosy/ops/optimizer/update_loops_cpu.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "argosy/ops/optimizer/update_rules.h"

HWY_BEFORE_NAMESPACE();
namespace argosy::optimizer {
namespace HWY_NAMESPACE {

#include "argosy/ops/optimizer/loop_table.inc"

std::span<const LoopRow> float_loops() {
  static constexpr LoopRow kRows[] = {ARGOSY_REAL_LOOPS(float, float)};
  return kRows;
}

#undef ARGOSY_VECTORIZE
#undef ARGOSY_FIELD_LOOPS
#undef ARGOSY_REAL_LOOPS

}  // namespace HWY_NAMESPACE
}  // namespace argosy::optimizer
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace argosy::optimizer {

HWY_EXPORT(float_loops);

std::span<const LoopRow> vector_loops() { return HWY_DYNAMIC_DISPATCH(float_loops)(); }

}  // namespace argosy::optimizer
#endif
