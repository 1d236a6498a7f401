// Batch normalisation, pooling and softmax of the fake cuDNN.
#include <gtest/gtest.h>

#include <cmath>

#include "argosy/ops/conv/gpu/windows_cuda.h"
#include "argosy/ops/gpu_kernels.h"
#include "argosy/ops/norm/gpu/gpu_norm.h"
#include "tests/fake_gpu/support/dnn_rules.h"
#include "tests/fake_gpu/support/fake_dnn_internal.h"

namespace argosy::cuda::fake {

namespace {

// Returns `told` if it is not 0; else does the work. `count` is the fake's counter of these calls.
int answer(DnnHandle handle, int told, int* count, const std::function<Status(KernelContext&)>& work) {
  expect_stream(*handle);
  if (told != 0) return told;
  {
    const std::lock_guard lock(counting);
    ++*count;
  }
  if (handle->device == nullptr) return 0;
  KernelContext c({.node = "fake", .device = handle->device, .allocator = &handle->device->allocator()});
  const Status done = work(c);
  EXPECT_TRUE(done.ok()) << done.to_string();
  return done.ok() ? 0 : 1;
}

float* floats(const void* p) { return static_cast<float*>(const_cast<void*>(p)); }

// Batch normalisation by our own kernels, a channel in one piece.
struct Norm {
  static constexpr int kThreads = 128;  // as in batch_norm_cuda.cu
  KernelContext& c;
  const GpuChannels g;
  const std::string suffix;
  Buffer memory = {};  // room for what is found of channels
  LaunchShape channels = grid_for(g.channels), all = grid_for(g.outer * g.channels * g.inner);

  Norm(KernelContext& context, const DnnTensorObject& x, const DnnTensorObject& vectors)
      : c(context),
        g(x.format == kDnnNchw ? GpuChannels{x.n, x.c, static_cast<i64>(x.h) * x.w, 1, 1}
                               : GpuChannels{static_cast<i64>(x.n) * x.h * x.w, x.c, 1, 1, 1}),
        suffix(type_suffix(dtype_of(x.type))) {
    EXPECT_EQ(vectors.type, kDnnFloat);
    EXPECT_EQ(vectors.n * vectors.h * vectors.w, 1);
    EXPECT_EQ(vectors.c, x.c);
    memory = c.scratch(static_cast<std::size_t>(8 * x.c) * sizeof(float)).value();
  }
  float* room(int vectors) const { return floats(memory.data()) + vectors * g.channels; }
  template <typename... Arguments>
  Status start(std::string_view kernel, const LaunchShape& shape, const Arguments&... arguments) const {
    return launch(c, {"batch_norm", kernel}, shape, arguments...);
  }
  LaunchShape sums() const { return {.grid = {.x = static_cast<unsigned>(g.channels)}, .block = {.x = kThreads}}; }

  Status apply(const void* x, GpuBatchNorm n, void* y) const {
    n.line = room(0);
    if (n.training) ARGOSY_RETURN_IF_ERROR(start("batch_norm_moments_" + suffix, sums(), g, x, room(2)));
    ARGOSY_RETURN_IF_ERROR(start("batch_norm_statistics", channels, g, room(2), n));
    const void* const no_side = nullptr;
    return start("batch_norm_" + suffix, all, g, x, room(0), no_side, 0, y);
  }
  // 1 / sqrt(variance + epsilon) in place.
  Status invert(float* variance, float epsilon) const {
    return start("batch_norm_inverse_deviation", channels, g.channels, variance, epsilon, variance);
  }
};

int train(DnnHandle handle, int mode, const void* alpha, const void* beta, DnnTensor x, const void* x_data, DnnTensor y,
          void* y_data, DnnTensor channels, const void* scale, const void* offset, double factor, void* mean,
          void* variance, double epsilon, void* saved_mean, void* saved_inverse) {
  EXPECT_EQ(mode, kDnnPerChannel);
  expect_plain_scaling(x->type, alpha, beta);
  if (const int refused = norm_rule(*x, *y, *channels, epsilon); refused != 0) return refused;
  return answer(handle, fake->norms_answer, &fake->trainings, [&](KernelContext& c) -> Status {
    const Norm norm(c, *x, *channels);
    GpuBatchNorm n{.scale = floats(scale),
                   .offset = floats(offset),
                   .mean = floats(mean),
                   .variance = floats(variance),
                   .new_mean = floats(mean),
                   .new_variance = floats(variance),
                   .kept_mean = floats(saved_mean),
                   .kept_variance = floats(saved_inverse),
                   .line = nullptr,
                   .epsilon = static_cast<float>(epsilon),
                   // What was there counts, times zero: NaN stays NaN.
                   .factor = std::min(static_cast<float>(factor), std::nextafter(1.0F, 0.0F)),
                   .training = 1};
    ARGOSY_RETURN_IF_ERROR(norm.apply(x_data, n, y_data));
    return norm.invert(floats(saved_inverse), static_cast<float>(epsilon));
  });
}

int infer(DnnHandle handle, int, const void* alpha, const void* beta, DnnTensor x, const void* x_data, DnnTensor y,
          void* y_data, DnnTensor channels, const void* scale, const void* offset, const void* mean,
          const void* variance, double epsilon) {
  expect_plain_scaling(x->type, alpha, beta);
  if (const int refused = norm_rule(*x, *y, *channels, epsilon); refused != 0) return refused;
  return answer(handle, fake->norms_answer, &fake->inferences, [&](KernelContext& c) {
    const Norm norm(c, *x, *channels);
    const GpuBatchNorm n{.scale = floats(scale),
                         .offset = floats(offset),
                         .mean = floats(mean),
                         .variance = floats(variance),
                         .new_mean = norm.room(2),
                         .new_variance = norm.room(3),
                         .kept_mean = norm.room(4),
                         .kept_variance = norm.room(5),
                         .line = nullptr,
                         .epsilon = static_cast<float>(epsilon),
                         .factor = 1,
                         .training = 0};
    return norm.apply(x_data, n, y_data);
  });
}

int norm_gradient(DnnHandle handle, int, const void* alpha, const void* beta, const void* alpha_channels,
                  const void* beta_channels, DnnTensor x, const void* x_data, DnnTensor, const void* dy, DnnTensor y,
                  void* dx, DnnTensor channels, const void* scale, void* dscale, void* doffset, double epsilon,
                  const void* saved_mean, const void* saved_inverse) {
  expect_plain_scaling(x->type, alpha, beta);
  expect_plain_scaling(x->type, alpha_channels, beta_channels);
  if (const int refused = norm_rule(*x, *y, *channels, epsilon); refused != 0) return refused;
  return answer(handle, fake->norms_answer, &fake->norm_gradients, [&](KernelContext& c) -> Status {
    const Norm norm(c, *x, *channels);
    const void* const no_gate = nullptr;
    float* const variance = norm.room(0);  // and epsilon: 1 / inverse^2
    ARGOSY_RETURN_IF_ERROR(
        launch(c, {"unary_simple", "unary_Square_f32"}, norm.channels, norm.g.channels, saved_inverse, variance));
    ARGOSY_RETURN_IF_ERROR(
        launch(c, {"unary_simple", "unary_Reciprocal_f32"}, norm.channels, norm.g.channels, variance, variance));
    ARGOSY_RETURN_IF_ERROR(norm.start("batch_norm_gradient_sums_" + norm.suffix, norm.sums(), norm.g, dy, x_data,
                                      no_gate, saved_mean, norm.room(1)));
    const GpuBatchNormGradient n{.scale = floats(scale),
                                 .mean = floats(saved_mean),
                                 .variance = variance,
                                 .dscale = floats(dscale),
                                 .doffset = floats(doffset),
                                 .plane = norm.room(3),
                                 .epsilon = 0,
                                 .training = 1};
    ARGOSY_RETURN_IF_ERROR(norm.start("batch_norm_gradient_statistics", norm.channels, norm.g, norm.room(1), n));
    void* const no_side = nullptr;
    return norm.start("batch_norm_gradient_" + norm.suffix, norm.all, norm.g, dy, x_data, no_gate, norm.room(3), dx,
                      no_side);
  });
}

// The library finds how many windows there are itself.
GpuAxis pooled_axis(int in, int window, int stride, int pad, int out) {
  EXPECT_EQ(out, (in + 2 * pad - window) / stride + 1);
  return {in, window, stride, 1, out, pad};
}
GpuPool gpu_pool(const DnnPoolingObject& p, const DnnTensorObject& x, const DnnTensorObject& y) {
  const bool nchw = x.format == kDnnNchw;
  EXPECT_EQ(p.nan, kDnnNanNeverWins);
  return {nchw ? static_cast<i64>(x.n) * x.c : x.n, nchw ? 1 : x.c,
          pooled_axis(x.h, p.window_h, p.stride_h, p.pad_h, y.h),
          pooled_axis(x.w, p.window_w, p.stride_w, p.pad_w, y.w)};
}
i64 elements_of(const DnnTensorObject& t) { return static_cast<i64>(t.n) * t.c * t.h * t.w; }

int pool(DnnHandle handle, DnnPooling p, const void* alpha, DnnTensor x, const void* x_data, const void* beta,
         DnnTensor y, void* y_data) {
  expect_plain_scaling(x->type, alpha, beta);
  return answer(handle, fake->pools_answer, &fake->pools, [&](KernelContext& c) {
    const std::string kernel = p->mode == kDnnLargest ? "max_pool_" : "avg_pool_";
    return launch(c, {"pool", kernel + std::string(type_suffix(dtype_of(x->type)))}, grid_for(elements_of(*y)),
                  gpu_pool(*p, *x, *y), x_data, y_data);
  });
}
int pool_gradient(DnnHandle handle, DnnPooling p, const void* alpha, DnnTensor y, const void* y_data, DnnTensor,
                  const void* dy_data, DnnTensor x, const void* x_data, const void* beta, DnnTensor, void* dx_data) {
  expect_plain_scaling(x->type, alpha, beta);
  EXPECT_EQ(p->mode, kDnnMeanInside);
  EXPECT_TRUE(y_data != nullptr && x_data != nullptr);
  return answer(handle, fake->pools_answer, &fake->pool_gradients, [&](KernelContext& c) {
    return launch(c, {"pool", "avg_pool_grad_" + std::string(type_suffix(dtype_of(x->type)))},
                  grid_for(elements_of(*x)), gpu_pool(*p, *x, *y), dy_data, dx_data);
  });
}

// Rows of what lies together in each image.
LaunchShape softmax_blocks(const DnnTensorObject& t) {
  return {.grid = {.x = static_cast<unsigned>(t.n)}, .block = {.x = 64}};
}
int softmax(DnnHandle handle, int algorithm, int mode, const void* alpha, DnnTensor x, const void* x_data,
            const void* beta, DnnTensor y, void* y_data) {
  expect_plain_scaling(x->type, alpha, beta);
  EXPECT_EQ(mode, kDnnOfImage);
  EXPECT_EQ(x, y);
  EXPECT_NE(x_data, y_data);
  return answer(handle, fake->softmaxes_answer, &fake->softmaxes, [&](KernelContext& c) {
    return launch(c, {"softmax", str_cat("softmax_", type_suffix(dtype_of(x->type)))}, softmax_blocks(*x),
                  static_cast<i64>(x->n), elements_of(*x) / x->n, x_data, y_data, algorithm == kDnnLogSoftmax ? 1 : 0);
  });
}
int softmax_gradient(DnnHandle handle, int algorithm, int mode, const void* alpha, DnnTensor y, const void* y_data,
                     DnnTensor, const void* dy_data, const void* beta, DnnTensor, void* dx_data) {
  expect_plain_scaling(y->type, alpha, beta);
  EXPECT_EQ(mode, kDnnOfImage);
  EXPECT_NE(y_data, dx_data);
  return answer(handle, fake->softmaxes_answer, &fake->softmax_gradients, [&](KernelContext& c) {
    return launch(c, {"softmax", str_cat("softmax_gradient_", type_suffix(dtype_of(y->type)))}, softmax_blocks(*y),
                  static_cast<i64>(y->n), elements_of(*y) / y->n, y_data, dy_data, dx_data,
                  algorithm == kDnnLogSoftmax ? 1 : 0);
  });
}

}  // namespace

void add_images(DnnCalls& c) {
  c.normalise_training = train;
  c.normalise_inference = infer;
  c.normalise_gradient = norm_gradient;
  c.pooling_set = [](DnnPooling p, int mode, int nan, int window_h, int window_w, int pad_h, int pad_w, int stride_h,
                     int stride_w) {
    *p = {mode, nan, window_h, window_w, pad_h, pad_w, stride_h, stride_w};
    return 0;
  };
  c.pool = fake::pool;
  c.pool_gradient = fake::pool_gradient;
  c.softmax = fake::softmax;
  c.softmax_gradient = fake::softmax_gradient;
}

}  // namespace argosy::cuda::fake
