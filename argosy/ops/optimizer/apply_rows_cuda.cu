// Sparse optimizer updates: rows of a variable, by index. Where several indices name one row, one thread applies all
// its gradients, in order.
#include "argosy/ops/optimizer/apply_rules_cuda.h"

namespace argosy::cuda {

template <typename T, template <typename, bool> class Rule, bool kFlag>
ARGOSY_DEVICE void apply_rows(const ApplyRows& t) {
  const T* const g = static_cast<const T*>(t.gradient);
  WithRule<T, Rule, kFlag>::call(t.scalars, [&](const auto& rule) {
    for (i64 e = first_index(); e < t.count * t.slice; e += index_step()) {
      const i64 i = e / t.slice, k = e % t.slice;
      if (t.slots[i].start < 0 || t.slots[i].first == 0) continue;
      const i64 at = t.slots[i].start + k;
      for (i64 slot = i; slot >= 0; slot = t.slots[slot].next) {
        update_element<T>(rule, t.variables, at, load(g, slot * t.slice + k));
      }
    }
  });
}

#define ARGOSY_APPLY_ROWS(Rule, flag)                                                                                  \
  ARGOSY_KERNEL(apply_rows_##Rule##_##flag##_f32, ApplyRows table) { apply_rows<f32, rules::Rule, flag != 0>(table); } \
  ARGOSY_KERNEL(apply_rows_##Rule##_##flag##_f64, ApplyRows table) { apply_rows<f64, rules::Rule, flag != 0>(table); } \
  ARGOSY_KERNEL(apply_rows_##Rule##_##flag##_f16, ApplyRows table) { apply_rows<f16, rules::Rule, flag != 0>(table); } \
  ARGOSY_KERNEL(apply_rows_##Rule##_##flag##_bf16, ApplyRows table) { apply_rows<bf16, rules::Rule, flag != 0>(table); }
ARGOSY_CUDA_ROW_RULES(ARGOSY_APPLY_ROWS)

}  // namespace argosy::cuda
