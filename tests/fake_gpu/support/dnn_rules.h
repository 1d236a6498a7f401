// The rules of cuDNN for its arguments, from its documentation and from users' reports, for the fake cuDNN. Each
// returns 0, or the status with which the library refuses.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/fake_gpu/support/fake_dnn.h"

namespace argosy::cuda::fake {

inline bool is_type(int type) {
  return type == kDnnFloat || type == kDnnDouble || type == kDnnHalf || type == kDnnBfloat16;
}

// Sizes are at least 1, and there are fewer than 2^31 elements.
inline int tensor_rule(int format, int type, std::initializer_list<int> sizes) {
  if ((format != kDnnNchw && format != kDnnNhwc) || !is_type(type)) return kDnnBadParameter;
  if (!std::all_of(sizes.begin(), sizes.end(), [](int size) { return size > 0; })) return kDnnBadParameter;
  std::int64_t elements = 1;
  for (const int size : sizes) elements *= size;
  return elements <= std::numeric_limits<int>::max() ? 0 : kDnnNotSupported;
}

// Scale, offset and statistics are float32 (float64 for float64 images), one for each channel. At most 65535 images,
// the limit of a grid.
inline int norm_rule(const DnnTensorObject& x, const DnnTensorObject& y, const DnnTensorObject& channels,
                     double epsilon) {
  if (channels.type != (x.type == kDnnDouble ? kDnnDouble : kDnnFloat) || channels.n * channels.h * channels.w != 1 ||
      channels.c != x.c || x.type != y.type || epsilon < kDnnLeastEpsilon) {
    return kDnnBadParameter;
  }
  return x.n > 65535 ? kDnnNotSupported : 0;
}

// The scaling factors are 1 and 0: float64 for float64, float32 for all other types.
inline void expect_plain_scaling(int type, const void* alpha, const void* beta) {
  if (type == kDnnDouble) {
    EXPECT_EQ(*static_cast<const double*>(alpha), 1);
    EXPECT_EQ(*static_cast<const double*>(beta), 0);
  } else {
    EXPECT_EQ(*static_cast<const float*>(alpha), 1);
    EXPECT_EQ(*static_cast<const float*>(beta), 0);
  }
}

}  // namespace argosy::cuda::fake
