// Cast kernels: one for each source dtype, which chooses the target when it runs. Cases that C leaves open are those of
// convert.h.
#include "argosy/device/cuda/kernels/kernel_source.h"

namespace argosy::cuda {

template <typename Register, typename From>
ARGOSY_DEVICE Register to_register(From x, From end) {
  constexpr Register kLowest = static_cast<Register>(1ull << (8 * sizeof(Register) - 1));
  return x >= -end && x < end ? static_cast<Register>(x) : kLowest;
}

template <typename To>
struct Convert {
  // From an integer or bool: what C says.
  template <typename From>
  static ARGOSY_DEVICE To call(From x) {
    return static_cast<To>(x);
  }
};
#define ARGOSY_CONVERT_TO_SMALL(To)                                                                     \
  template <>                                                                                           \
  struct Convert<To> {                                                                                  \
    template <typename From>                                                                            \
    static ARGOSY_DEVICE To call(From x) {                                                              \
      return static_cast<To>(x);                                                                        \
    }                                                                                                   \
    static ARGOSY_DEVICE To call(f32 x) { return static_cast<To>(to_register<i32>(x, 2147483648.0f)); } \
    static ARGOSY_DEVICE To call(f64 x) { return static_cast<To>(to_register<i32>(x, 2147483648.0)); }  \
  };
ARGOSY_CONVERT_TO_SMALL(i8)
ARGOSY_CONVERT_TO_SMALL(i16)
ARGOSY_CONVERT_TO_SMALL(i32)
ARGOSY_CONVERT_TO_SMALL(u8)
ARGOSY_CONVERT_TO_SMALL(u16)
#undef ARGOSY_CONVERT_TO_SMALL
#define ARGOSY_CONVERT_TO_WIDE(To)                                                                               \
  template <>                                                                                                    \
  struct Convert<To> {                                                                                           \
    template <typename From>                                                                                     \
    static ARGOSY_DEVICE To call(From x) {                                                                       \
      return static_cast<To>(x);                                                                                 \
    }                                                                                                            \
    static ARGOSY_DEVICE To call(f32 x) { return static_cast<To>(to_register<i64>(x, 9223372036854775808.0f)); } \
    static ARGOSY_DEVICE To call(f64 x) { return static_cast<To>(to_register<i64>(x, 9223372036854775808.0)); }  \
  };
ARGOSY_CONVERT_TO_WIDE(u32)
ARGOSY_CONVERT_TO_WIDE(i64)
#undef ARGOSY_CONVERT_TO_WIDE
template <>
struct Convert<u64> {
  template <typename From>
  static ARGOSY_DEVICE u64 call(From x) {
    return static_cast<u64>(x);
  }
  static ARGOSY_DEVICE u64 call(f64 x) {
    constexpr f64 kHalf = 9223372036854775808.0;
    if (x >= kHalf) return static_cast<u64>(to_register<i64>(x - kHalf, kHalf)) ^ (1ull << 63);
    return static_cast<u64>(to_register<i64>(x, kHalf));
  }
  static ARGOSY_DEVICE u64 call(f32 x) { return call(static_cast<f64>(x)); }
};
template <>
struct Convert<bool> {
  template <typename From>
  static ARGOSY_DEVICE bool call(From x) {
    return x != From(0);
  }
};

template <typename From, typename To>
ARGOSY_DEVICE void cast(i64 n, const From* x, To* y) {
  constexpr int kVec = kVecElements<From, To>;
  const auto whole = [=](i64 first) {
    const Vec<From, kVec> xs = load_vec<kVec>(x, first);
    Vec<To, kVec> ys;
    ARGOSY_UNROLL
    for (int k = 0; k < kVec; ++k) {
      ys.at[k] = Number<To>::store(Convert<Compute<To>>::call(Number<From>::load(xs.at[k])));
    }
    store_vec<kVec>(y, first, ys);
  };
  for_vecs<kVec>(n, are_vec_aligned<kVec>(x, y), first_index(), index_step(), whole,
                 [=](i64 i) { store(y, i, Convert<Compute<To>>::call(load(x, i))); });
}

// Complex numbers have a real number's imaginary part 0, and lose their own.
template <typename From, typename To>
ARGOSY_DEVICE void cast_to_complex(i64 n, const From* x, To* y) {
  using Part = typename PartOf<To>::Type;
  for (i64 i = first_index(); i < n; i += index_step()) {
    y[i] = To{Convert<Part>::call(load(x, i)), Part(0)};
  }
}
template <typename From, typename To>
ARGOSY_DEVICE void cast_parts(i64 n, const From* x, To* y) {
  using Part = typename PartOf<To>::Type;
  for (i64 i = first_index(); i < n; i += index_step()) {
    y[i] = To{static_cast<Part>(x[i].re), static_cast<Part>(x[i].im)};
  }
}
template <typename From, typename To>
ARGOSY_DEVICE void cast_real_part(i64 n, const From* x, To* y) {
  for (i64 i = first_index(); i < n; i += index_step()) store(y, i, Convert<Compute<To>>::call(x[i].re));
}

// `to`: TensorFlow's number of the dtype.
template <typename From>
ARGOSY_DEVICE void cast_any(i64 n, const From* x, void* y, int to) {
  switch (to) {
    case 1: return cast(n, x, static_cast<f32*>(y));
    case 2: return cast(n, x, static_cast<f64*>(y));
    case 3: return cast(n, x, static_cast<i32*>(y));
    case 4: return cast(n, x, static_cast<u8*>(y));
    case 5: return cast(n, x, static_cast<i16*>(y));
    case 6: return cast(n, x, static_cast<i8*>(y));
    case 9: return cast(n, x, static_cast<i64*>(y));
    case 10: return cast(n, x, static_cast<bool*>(y));
    case 14: return cast(n, x, static_cast<bf16*>(y));
    case 17: return cast(n, x, static_cast<u16*>(y));
    case 19: return cast(n, x, static_cast<f16*>(y));
    case 22: return cast(n, x, static_cast<u32*>(y));
    case 23: return cast(n, x, static_cast<u64*>(y));
    case 8: return cast_to_complex(n, x, static_cast<c64*>(y));
    case 18: return cast_to_complex(n, x, static_cast<c128*>(y));
    default: return;
  }
}
template <typename From>
ARGOSY_DEVICE void cast_complex(i64 n, const From* x, void* y, int to) {
  switch (to) {
    case 1: return cast_real_part(n, x, static_cast<f32*>(y));
    case 2: return cast_real_part(n, x, static_cast<f64*>(y));
    case 3: return cast_real_part(n, x, static_cast<i32*>(y));
    case 4: return cast_real_part(n, x, static_cast<u8*>(y));
    case 5: return cast_real_part(n, x, static_cast<i16*>(y));
    case 6: return cast_real_part(n, x, static_cast<i8*>(y));
    case 9: return cast_real_part(n, x, static_cast<i64*>(y));
    case 10: return cast_real_part(n, x, static_cast<bool*>(y));
    case 14: return cast_real_part(n, x, static_cast<bf16*>(y));
    case 17: return cast_real_part(n, x, static_cast<u16*>(y));
    case 19: return cast_real_part(n, x, static_cast<f16*>(y));
    case 22: return cast_real_part(n, x, static_cast<u32*>(y));
    case 23: return cast_real_part(n, x, static_cast<u64*>(y));
    case 8: return cast_parts(n, x, static_cast<c64*>(y));
    case 18: return cast_parts(n, x, static_cast<c128*>(y));
    default: return;
  }
}

#define ARGOSY_CAST(T) \
  ARGOSY_KERNEL(cast_##T, i64 n, const T* x, void* y, int to) { cast_any(n, x, y, to); }
ARGOSY_CAST(f32)
ARGOSY_CAST(f64)
ARGOSY_CAST(f16)
ARGOSY_CAST(bf16)
ARGOSY_CAST(i8)
ARGOSY_CAST(i16)
ARGOSY_CAST(i32)
ARGOSY_CAST(i64)
ARGOSY_CAST(u8)
ARGOSY_CAST(u16)
ARGOSY_CAST(u32)
ARGOSY_CAST(u64)
ARGOSY_CAST(bool)
#undef ARGOSY_CAST
ARGOSY_KERNEL(cast_c64, i64 n, const c64* x, void* y, int to) { cast_complex(n, x, y, to); }
ARGOSY_KERNEL(cast_c128, i64 n, const c128* x, void* y, int to) { cast_complex(n, x, y, to); }

}  // namespace argosy::cuda
