// The part of cuDNN that we use: its functions, with our own names for its constants and opaque handles. So the build
// needs no vendor header. dnn_calls_check.cc compares them with that header where it is installed.
//
// Convolutions use graphs of operations (dnn_graph.h), because only that interface has engines for newer GPUs.
// Normalisation, pooling and softmax use the calls of version 7, which version 9 still has.
#pragma once

#include <cstddef>
#include <cstdint>

namespace argosy::cuda {

struct DnnHandleObject;
struct DnnTensorObject;
struct DnnPoolingObject;
using DnnHandle = DnnHandleObject*;
using DnnTensor = DnnTensorObject*;
using DnnPooling = DnnPoolingObject*;

inline constexpr int kDnnFloat = 0;
inline constexpr int kDnnDouble = 1;
inline constexpr int kDnnHalf = 2;
inline constexpr int kDnnBfloat16 = 9;
inline constexpr int kDnnNchw = 0;
inline constexpr int kDnnNhwc = 1;
inline constexpr int kDnnCrossCorrelation = 1;
inline constexpr int kDnnPerChannel = 1;       // batch normalisation: statistics of a channel
inline constexpr double kDnnLeastEpsilon = 0;  // of batch normalisation
inline constexpr int kDnnLargest = 0;          // pooling: the largest element
inline constexpr int kDnnMeanInside = 2;       // pooling: the mean, padding not counted
inline constexpr int kDnnNanNeverWins = 0;     // pooling
inline constexpr int kDnnSoftmax = 1;          // exponents less the largest
inline constexpr int kDnnLogSoftmax = 2;       // its logarithm
inline constexpr int kDnnOfImage = 0;          // softmax: over channels, rows and columns
inline constexpr int kDnnNotReady = 1001;      // there is no handle
inline constexpr int kDnnPartOfOther = 1002;   // one of its own libraries has another version
inline constexpr int kDnnPartMissing = 1008;   // one of its own libraries cannot be opened
inline constexpr int kDnnBadParameter = 2000;  // to 2999
inline constexpr int kDnnNotSupported = 3000;  // to 3999

// The three convolutions, each of two operands and a result:
//   forward: image, filter -> output    towards the image: filter, dy -> dx    towards the filter: image, dy -> df
inline constexpr int kDnnForward = 0, kDnnTowardsImage = 1, kDnnTowardsFilter = 2;

// All return 0 when they succeed.
struct DnnCalls {
  std::size_t (*version)() = nullptr;  // 90500: 9.5.0
  const char* (*error_text)(int status) = nullptr;
  int (*create)(DnnHandle*) = nullptr;
  int (*destroy)(DnnHandle) = nullptr;
  int (*set_stream)(DnnHandle, void* stream) = nullptr;
  void (*last_error)(char* text, std::size_t bytes) = nullptr;  // of the calling thread
  int (*tensor_create)(DnnTensor*) = nullptr;
  int (*tensor_destroy)(DnnTensor) = nullptr;
  int (*tensor_set)(DnnTensor, int format, int type, int n, int c, int h, int w) = nullptr;

  // Graphs (dnn_graph.h, dnn_graph_numbers.h): descriptors are made, given attributes by number, finished.
  int (*graph_create)(int kind, void** node) = nullptr;
  int (*graph_destroy)(void* node) = nullptr;
  int (*graph_set)(void* node, int attribute, int type, std::int64_t count, const void* values) = nullptr;
  int (*graph_get)(void* node, int attribute, int type, std::int64_t most, std::int64_t* found, void* values) = nullptr;
  int (*graph_finish)(void* node) = nullptr;
  int (*graph_execute)(DnnHandle, void* plan, void* pack) = nullptr;

  // Batch normalisation. `channels` describes a vector with one float32 for each channel: scale, offset, statistics.
  // Training updates the running statistics: (1 - factor) * old + factor * batch, the variance with Bessel's
  // correction. It saves the batch's mean and 1 / sqrt(variance + epsilon).
  int (*normalise_training)(DnnHandle, int mode, const void* alpha, const void* beta, DnnTensor x, const void* x_data,
                            DnnTensor y, void* y_data, DnnTensor channels, const void* scale, const void* offset,
                            double factor, void* running_mean, void* running_variance, double epsilon, void* saved_mean,
                            void* saved_inverse) = nullptr;
  int (*normalise_inference)(DnnHandle, int mode, const void* alpha, const void* beta, DnnTensor x, const void* x_data,
                             DnnTensor y, void* y_data, DnnTensor channels, const void* scale, const void* offset,
                             const void* mean, const void* variance, double epsilon) = nullptr;
  // The gradient of training.
  int (*normalise_gradient)(DnnHandle, int mode, const void* alpha, const void* beta, const void* alpha_channels,
                            const void* beta_channels, DnnTensor x, const void* x_data, DnnTensor dy,
                            const void* dy_data, DnnTensor dx, void* dx_data, DnnTensor channels, const void* scale,
                            void* dscale, void* doffset, double epsilon, const void* saved_mean,
                            const void* saved_inverse) = nullptr;

  int (*pooling_create)(DnnPooling*) = nullptr;
  int (*pooling_destroy)(DnnPooling) = nullptr;
  int (*pooling_set)(DnnPooling, int mode, int propagate_nan, int window_h, int window_w, int pad_h, int pad_w,
                     int stride_h, int stride_w) = nullptr;
  int (*pool)(DnnHandle, DnnPooling, const void* alpha, DnnTensor x, const void* x_data, const void* beta, DnnTensor y,
              void* y_data) = nullptr;
  int (*pool_gradient)(DnnHandle, DnnPooling, const void* alpha, DnnTensor y, const void* y_data, DnnTensor dy,
                       const void* dy_data, DnnTensor x, const void* x_data, const void* beta, DnnTensor dx,
                       void* dx_data) = nullptr;

  // Softmax over all elements of each image (kDnnOfImage).
  int (*softmax)(DnnHandle, int algorithm, int mode, const void* alpha, DnnTensor x, const void* x_data,
                 const void* beta, DnnTensor y, void* y_data) = nullptr;
  int (*softmax_gradient)(DnnHandle, int algorithm, int mode, const void* alpha, DnnTensor y, const void* y_data,
                          DnnTensor dy, const void* dy_data, const void* beta, DnnTensor dx, void* dx_data) = nullptr;
};

}  // namespace argosy::cuda
