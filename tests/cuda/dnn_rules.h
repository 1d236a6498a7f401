// What cuDNN's documentation, and what users have found, allows of what it is given: for the fake of it. 0, or the
// number with which the library refuses.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/cuda/fake_dnn.h"

namespace argosy::cuda::fake {

inline bool is_type(int type) {
  return type == kDnnFloat || type == kDnnDouble || type == kDnnHalf || type == kDnnBfloat16;
}

// Sizes are at least 1, and a tensor that is no filter has less than 2^31 elements.
inline int filter_rule(int format, int type, std::initializer_list<int> sizes) {
  if ((format != kDnnNchw && format != kDnnNhwc) || !is_type(type)) return kDnnBadParameter;
  return std::all_of(sizes.begin(), sizes.end(), [](int size) { return size > 0; }) ? 0 : kDnnBadParameter;
}
inline int tensor_rule(int format, int type, std::initializer_list<int> sizes) {
  if (const int refused = filter_rule(format, type, sizes); refused != 0) return refused;
  std::int64_t elements = 1;
  for (const int size : sizes) elements *= size;
  return elements <= std::numeric_limits<int>::max() ? 0 : kDnnNotSupported;
}

inline int windows_of(int in, int window, int stride, int dilation, int pad) {
  return (in + 2 * pad - ((window - 1) * dilation + 1)) / stride + 1;
}

// One type and layout; summed in float32, or float64 of float64; the output as large as the library finds it.
inline int convolution_rule(const DnnTensorObject& image, const DnnFilterObject& filter, const DnnTensorObject& output,
                            const DnnConvolutionObject& conv) {
  if (image.type != filter.type || image.type != output.type) return kDnnBadParameter;
  if (conv.mode != kDnnCrossCorrelation || conv.compute != (image.type == kDnnDouble ? kDnnDouble : kDnnFloat)) {
    return kDnnNotSupported;
  }
  if (image.format != filter.format || image.format != output.format) return kDnnNotSupported;
  if (image.n != output.n || image.c != filter.in * conv.groups || output.c != filter.out ||
      output.c % conv.groups != 0) {
    return kDnnBadParameter;
  }
  const bool fits = output.h == windows_of(image.h, filter.h, conv.stride_h, conv.dilation_h, conv.pad_h) &&
                    output.w == windows_of(image.w, filter.w, conv.stride_w, conv.dilation_w, conv.pad_w);
  return fits ? 0 : kDnnBadParameter;
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
