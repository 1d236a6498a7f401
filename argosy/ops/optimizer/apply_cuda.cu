// Dense optimizer updates: the rules of update_rules.h, for many variables per launch.
#include "argosy/ops/optimizer/apply_rules_cuda.h"

namespace argosy::cuda {

template <typename T, template <typename, bool> class Rule, bool kFlag>
ARGOSY_DEVICE void apply(const ApplyTable& table) {
  WithRule<T, Rule, kFlag>::call(table.scalars, [&](const auto& rule) {
    for (i64 piece = blockIdx.x; piece < table.pieces; piece += gridDim.x) {
      // The last update that begins here or before.
      int low = 0, high = table.count - 1;
      while (low < high) {
        const int at = (low + high + 1) / 2;
        if (table.updates[at].first <= piece) {
          low = at;
        } else {
          high = at - 1;
        }
      }
      const ApplyTable::Update& u = table.updates[low];
      const T* const g = static_cast<const T*>(u.gradient);
      const i64 begin = (piece - u.first) * ApplyTable::kPiece;
      const i64 end = begin + ApplyTable::kPiece < u.n ? begin + ApplyTable::kPiece : u.n;
      for (i64 i = begin + threadIdx.x; i < end; i += blockDim.x) update_element<T>(rule, u.variables, i, load(g, i));
    }
  });
}

#define ARGOSY_APPLY(Rule, flag)                                                                              \
  ARGOSY_KERNEL(apply_##Rule##_##flag##_f32, ApplyTable table) { apply<f32, rules::Rule, flag != 0>(table); } \
  ARGOSY_KERNEL(apply_##Rule##_##flag##_f64, ApplyTable table) { apply<f64, rules::Rule, flag != 0>(table); } \
  ARGOSY_KERNEL(apply_##Rule##_##flag##_f16, ApplyTable table) { apply<f16, rules::Rule, flag != 0>(table); } \
  ARGOSY_KERNEL(apply_##Rule##_##flag##_bf16, ApplyTable table) { apply<bf16, rules::Rule, flag != 0>(table); }
ARGOSY_CUDA_RULES(ARGOSY_APPLY)

}  // namespace argosy::cuda
