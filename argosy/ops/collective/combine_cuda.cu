// Sums, means, products and extremes over the memories of several GPUs: the arithmetic of argosy/comm/combine.h, in
// the same orders, so that the bits are the same.
#include "argosy/comm/native_gpu/combine_table.h"
#include "argosy/device/cuda/kernels/kernel_source.h"
#include "argosy/ops/elementwise/gpu/functions_cuda.h"

namespace argosy::cuda {

// Divides; a mean of integers is rounded towards zero.
ARGOSY_DEVICE f32 divided(f32 value, f64 by) { return value / static_cast<f32>(by); }
ARGOSY_DEVICE f64 divided(f64 value, f64 by) { return value / by; }
template <typename T>
ARGOSY_DEVICE T divided(T value, f64 by) {
  if constexpr (Kind<T>::is_signed) {
    return static_cast<T>(static_cast<i64>(value) / static_cast<i64>(by));
  } else {
    return static_cast<T>(static_cast<u64>(value) / static_cast<u64>(by));
  }
}

template <typename A>
ARGOSY_DEVICE A combine_values(A a, A b, int reduction) {
  using W = typename fn::Wrapping<A>::Type;
  switch (reduction) {
    case 2: return a != a ? a : b != b ? b : b < a ? b : a;
    case 3: return a != a ? a : b != b ? b : a < b ? b : a;
    case 4: return static_cast<A>(static_cast<W>(a) * static_cast<W>(b));
    default: return static_cast<A>(static_cast<W>(a) + static_cast<W>(b));
  }
}

template <typename T>
ARGOSY_DEVICE void combine(const CombineTable& table) {
  using A = Compute<T>;
  const CombineTable::Part& part = table.parts[blockIdx.y];
  void* const* const in = table.pointers + part.first;
  void* const* const out = in + part.inputs;
  for (i64 i = part.begin + first_index(); i < part.end; i += index_step()) {
    A value;
    if (table.tree && part.inputs > 3) {
      // A binary counter: input k enters level 0, and is carried up while levels are occupied.
      A levels[CombineTable::kLevels];
      for (int k = 0; k < part.inputs; ++k) {
        value = load(static_cast<const T*>(in[k]), i);
        int level = 0;
        for (; (k >> level & 1) != 0; ++level) value = combine_values(levels[level], value, table.reduction);
        levels[level] = value;
      }
      int level = 0;
      while ((part.inputs >> level & 1) == 0) ++level;
      value = levels[level];
      for (++level; part.inputs >> level != 0; ++level) {
        if ((part.inputs >> level & 1) != 0) value = combine_values(levels[level], value, table.reduction);
      }
    } else {  // up to three the two orders are one
      value = load(static_cast<const T*>(in[0]), i);
      for (int k = 1; k < part.inputs; ++k) {
        value = combine_values(value, load(static_cast<const T*>(in[k]), i), table.reduction);
      }
    }
    if (table.reduction == 1) value = divided(value, table.divisor);
    for (int k = 0; k < part.outputs; ++k) store(static_cast<T*>(out[k]), i, value);
  }
}

ARGOSY_KERNEL(combine_f32, CombineTable table) { combine<f32>(table); }
ARGOSY_KERNEL(combine_f64, CombineTable table) { combine<f64>(table); }
ARGOSY_KERNEL(combine_f16, CombineTable table) { combine<f16>(table); }
ARGOSY_KERNEL(combine_bf16, CombineTable table) { combine<bf16>(table); }
ARGOSY_KERNEL(combine_i8, CombineTable table) { combine<i8>(table); }
ARGOSY_KERNEL(combine_i16, CombineTable table) { combine<i16>(table); }
ARGOSY_KERNEL(combine_i32, CombineTable table) { combine<i32>(table); }
ARGOSY_KERNEL(combine_i64, CombineTable table) { combine<i64>(table); }
ARGOSY_KERNEL(combine_u8, CombineTable table) { combine<u8>(table); }
ARGOSY_KERNEL(combine_u16, CombineTable table) { combine<u16>(table); }
ARGOSY_KERNEL(combine_u32, CombineTable table) { combine<u32>(table); }
ARGOSY_KERNEL(combine_u64, CombineTable table) { combine<u64>(table); }

}  // namespace argosy::cuda
