// What cuDNN's documentation, and what users have found, allows of what it is given: for the fake of it. 0, or the
// number with which the library refuses.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/fake_gpu/support/fake_dnn.h"

namespace argosy::cuda::fake {

inline bool is_type(int type) {
  return type == kDnnFloat || type == kDnnDouble || type == kDnnHalf || type == kDnnBfloat16;
}

// Sizes are at least 1, and there are less than 2^31 elements.
inline int tensor_rule(int format, int type, std::initializer_list<int> sizes) {
  if ((format != kDnnNchw && format != kDnnNhwc) || !is_type(type)) return kDnnBadParameter;
  if (!std::all_of(sizes.begin(), sizes.end(), [](int size) { return size > 0; })) return kDnnBadParameter;
  std::int64_t elements = 1;
  for (const int size : sizes) elements *= size;
  return elements <= std::numeric_limits<int>::max() ? 0 : kDnnNotSupported;
}

// Scale, offset and statistics are float32, float64 beside float64, one a channel; no more images than its grids take.
inline int norm_rule(const DnnTensorObject& x, const DnnTensorObject& y, const DnnTensorObject& channels,
                     double epsilon) {
  if (channels.type != (x.type == kDnnDouble ? kDnnDouble : kDnnFloat) || channels.n * channels.h * channels.w != 1 ||
      channels.c != x.c || x.type != y.type || epsilon < kDnnLeastEpsilon) {
    return kDnnBadParameter;
  }
  return x.n > 65535 ? kDnnNotSupported : 0;
}

// Results are the library's times one, and nothing of what was there: in float64 of float64, in float32 of all else.
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
