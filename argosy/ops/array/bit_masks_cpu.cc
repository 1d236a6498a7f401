#include "argosy/base/threads/parallel.h"
#include "argosy/ops/array/array_registration.h"

namespace argosy {

namespace {

// Bools are packed as they are; numbers are compared with the threshold.
template <typename T>
bool above(T x, T threshold) {
  if constexpr (std::is_same_v<T, bool>) {
    return x;
  } else {
    return x > threshold;
  }
}

Status compare_and_bitpack(KernelContext& c) {
  const Tensor &x = c.input(0), &threshold = c.input(1);
  const Shape& shape = x.shape();
  if (shape.rank() == 0) return invalid_argument("Input should be at least a vector, but saw a scalar.");
  if (threshold.shape().rank() != 0) return invalid_argument("Threshold must be a scalar, but saw ", threshold.shape());
  if (shape.back() % 8 != 0) {
    return invalid_argument("Inner dimension of input should be divisible by 8, but saw ", shape.back());
  }
  std::vector<std::int64_t> sizes(shape.sizes().begin(), shape.sizes().end());
  sizes.back() /= 8;
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, Shape(sizes)));
  using Types = TypeList<bool, float16, float, double, std::int8_t, std::int16_t, std::int32_t, std::int64_t>;
  return dispatch<Types>(x.dtype(), "CompareAndBitpack", [&]<typename T>() {
    const T limit = *threshold.data<T>();
    auto* const to = y->data<std::uint8_t>();
    parallel_for(y->elements(), 8192, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const T* const from = x.data<T>() + 8 * i;
        unsigned bits = 0;
        for (int k = 0; k < 8; ++k) bits = bits << 1 | static_cast<unsigned>(above(from[k], limit));
        to[i] = static_cast<std::uint8_t>(bits);
      }
    });
    return ok_status();
  });
}

}  // namespace

void add_bit_masks(KernelRegistry& kernels) { kernels.add("CompareAndBitpack", "cpu", compare_and_bitpack); }

}  // namespace argosy
