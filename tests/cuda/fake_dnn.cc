#include "tests/cuda/fake_dnn.h"

#include <gtest/gtest.h>

#include <cmath>
#include <mutex>

#include "argosy/ops/conv/windows_cuda.h"
#include "argosy/ops/launching.h"
#include "argosy/ops/layout/card_mover.h"
#include "argosy/ops/norm/card_norm.h"

namespace argosy::cuda::fake {

namespace {

FakeDnn* fake = nullptr;        // the table's functions are given no context of ours
CudaDevice* opening = nullptr;  // whose handle is made next
std::mutex counting;            // devices have threads of their own

template <typename T>
int create(T** out) {
  *out = new T;
  const std::lock_guard lock(counting);
  ++fake->live_objects;
  return 0;
}
template <typename T>
int destroy(T* object) {
  delete object;
  const std::lock_guard lock(counting);
  --fake->live_objects;
  return 0;
}

CardAxis axis_of(int in, int window, int out, int stride, int dilation, int pad) {
  return {in, window, stride, dilation, out, pad};
}
CardImage image_of(const DnnTensorObject& t) {
  const i64 h = t.h, w = t.w, c = t.c;
  return t.format == kDnnNchw ? CardImage{c * h * w, w, 1, h * w} : CardImage{c * h * w, w * c, c, 1};
}

// Our kernels read filters as [h, w, in, out].
Region own_filter(const DnnFilterObject& f) {
  const std::int64_t window = static_cast<std::int64_t>(f.h) * f.w, in = f.in, out = f.out;
  Region r;
  r.add(out, 1, window * in);
  r.add(in, out, f.format == kDnnNchw ? window : 1);
  r.add(window, in * out, f.format == kDnnNchw ? 1 : in);
  return r;
}

DType dtype_of(int type) {
  switch (type) {
    case kDnnDouble: return DType::kFloat64;
    case kDnnHalf: return DType::kFloat16;
    case kDnnBfloat16: return DType::kBfloat16;
    default: return DType::kFloat32;
  }
}

// As in fused_ops.h: no activation, or ReLU.
Status run(CudaDevice& device, int direction, const DnnTensorObject& image, const DnnFilterObject& filter,
           const DnnTensorObject& output, const DnnConvolutionObject& conv, const void* image_data,
           const void* filter_data, const void* output_data, const void* bias, void* result) {
  KernelContext c({.node = "fake", .device = &device, .allocator = &device.allocator()});
  const DType dtype = dtype_of(image.type);
  const std::size_t bytes = element_bytes(dtype);
  const CardConv g{
      .batch = image.n,
      .in_c = image.c,
      .out_c = output.c,
      .groups = conv.groups,
      .h = axis_of(image.h, filter.h, output.h, conv.stride_h, conv.dilation_h, conv.pad_h),
      .w = axis_of(image.w, filter.w, output.w, conv.stride_w, conv.dilation_w, conv.pad_w),
      .in = image_of(image),
      .out = image_of(output),
      .activation = bias != nullptr ? 1 : 0,
      .alpha = 0,
  };
  const i64 filter_elements = static_cast<i64>(filter.out) * filter.in * filter.h * filter.w;
  ARGOSY_ASSIGN_OR_RETURN(const Buffer turned, c.scratch(static_cast<std::size_t>(filter_elements) * bytes));
  CardMover mover(c);
  const std::string suffix(type_suffix(dtype));
  if (direction != kDnnTowardsFilter) mover.move(turned.data(), filter_data, bytes, own_filter(filter));
  ARGOSY_RETURN_IF_ERROR(mover.status());
  const i64 pixels = static_cast<i64>(image.n) * image.c * image.h * image.w;
  const i64 results = static_cast<i64>(output.n) * output.c * output.h * output.w;
  if (direction == kDnnForward) {
    return launch(c, {"conv", "conv_forward_" + suffix}, grid_for(results), g, image_data, turned.data(), bias, result);
  }
  if (direction == kDnnTowardsImage) {
    return launch(c, {"conv", "conv_backward_input_" + suffix}, grid_for(pixels), g, output_data, turned.data(),
                  result);
  }
  const LaunchShape shape{.grid = {.x = static_cast<unsigned>(filter_elements)}, .block = {.x = 32}};
  ARGOSY_RETURN_IF_ERROR(
      launch(c, {"conv", "conv_backward_filter_" + suffix}, shape, g, image_data, output_data, turned.data()));
  Region back = own_filter(filter);
  std::swap(back.to, back.from);
  mover.move(result, turned.data(), bytes, back);
  return mover.status();
}

int answer(DnnHandle handle, int algorithm, std::size_t workspace_bytes, const void* workspace,
           const std::function<Status(CudaDevice&)>& work) {
  std::unique_lock lock(counting);
  fake->tried.push_back(algorithm);
  if (const auto at = fake->status_of.find(algorithm); at != fake->status_of.end()) return at->second;
  for (const DnnChoice& c : fake->algorithms) {
    if (c.algorithm != algorithm) continue;
    EXPECT_EQ(workspace_bytes, c.workspace_bytes);
    EXPECT_EQ(workspace != nullptr, workspace_bytes > 0);
  }
  ++fake->convolutions;
  lock.unlock();
  if (handle->device == nullptr) return 0;
  const Status done = work(*handle->device);
  EXPECT_TRUE(done.ok()) << done.to_string();
  return done.ok() ? 0 : 1;
}

template <int kDirection>
int choose(DnnHandle, const void* first, const void* second, DnnConvolution, const void*, int most, int* found,
           DnnChoice* to) {
  const std::lock_guard lock(counting);
  ++fake->choices;
  const auto* const image =
      static_cast<const DnnTensorObject*>(kDirection == kDnnTowardsImage ? second : first);  // or dy, of one format
  *found = 0;
  if (fake->only_format >= 0 && image->format != fake->only_format) return 0;
  for (const DnnChoice& c : fake->algorithms) {
    if (*found < most) to[(*found)++] = c;
  }
  return 0;
}
int workspace(DnnHandle, const void*, const void*, DnnConvolution, const void*, int algorithm, std::size_t* bytes) {
  for (const DnnChoice& c : fake->algorithms) {
    if (c.algorithm == algorithm) *bytes = c.workspace_bytes;
  }
  return 0;
}

template <int kDirection>
int convolve(DnnHandle handle, const void*, const void* first, const void* first_data, const void* second,
             const void* second_data, DnnConvolution conv, int algorithm, void* memory, std::size_t bytes, const void*,
             const void* result, void* result_data) {
  return answer(handle, algorithm, bytes, memory, [&](CudaDevice& device) -> Status {
    if constexpr (kDirection == kDnnForward) {
      return run(device, kDirection, *static_cast<const DnnTensorObject*>(first),
                 *static_cast<const DnnFilterObject*>(second), *static_cast<const DnnTensorObject*>(result), *conv,
                 first_data, second_data, nullptr, nullptr, result_data);
    } else if constexpr (kDirection == kDnnTowardsImage) {
      return run(device, kDirection, *static_cast<const DnnTensorObject*>(result),
                 *static_cast<const DnnFilterObject*>(first), *static_cast<const DnnTensorObject*>(second), *conv,
                 nullptr, first_data, second_data, nullptr, result_data);
    } else {
      return run(device, kDirection, *static_cast<const DnnTensorObject*>(first),
                 *static_cast<const DnnFilterObject*>(result), *static_cast<const DnnTensorObject*>(second), *conv,
                 first_data, nullptr, second_data, nullptr, result_data);
    }
  });
}

int convolve_bias_activation(DnnHandle handle, const void*, DnnTensor image, const void* image_data, DnnFilter filter,
                             const void* filter_data, DnnConvolution conv, int algorithm, void* memory,
                             std::size_t bytes, const void*, DnnTensor, const void*, DnnTensor bias,
                             const void* bias_data, DnnActivation, DnnTensor result, void* result_data) {
  EXPECT_EQ(bias->c, result->c);
  if (!fake->fuses) return kDnnNotSupported;
  {
    const std::lock_guard lock(counting);
    ++fake->fused;
  }
  return answer(handle, algorithm, bytes, memory, [&](CudaDevice& device) {
    return run(device, kDnnForward, *image, *filter, *result, *conv, image_data, filter_data, nullptr, bias_data,
               result_data);
  });
}

// `told` instead, where it is something; `count` is the fake's counter of such calls.
int answer(DnnHandle handle, int told, int* count, const std::function<Status(KernelContext&)>& work) {
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
  const CardChannels g;
  const std::string suffix;
  Buffer memory = {};  // room for what is found of channels
  LaunchShape channels = grid_for(g.channels), all = grid_for(g.outer * g.channels * g.inner);

  Norm(KernelContext& context, const DnnTensorObject& x, const DnnTensorObject& vectors)
      : c(context),
        g(x.format == kDnnNchw ? CardChannels{x.n, x.c, static_cast<i64>(x.h) * x.w, 1, 1}
                               : CardChannels{static_cast<i64>(x.n) * x.h * x.w, x.c, 1, 1, 1}),
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

  Status apply(const void* x, CardBatchNorm n, void* y) const {
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

int train(DnnHandle handle, int mode, const void*, const void*, DnnTensor x, const void* x_data, DnnTensor,
          void* y_data, DnnTensor channels, const void* scale, const void* offset, double factor, void* mean,
          void* variance, double epsilon, void* saved_mean, void* saved_inverse) {
  EXPECT_EQ(mode, kDnnPerChannel);
  return answer(handle, fake->norms_answer, &fake->trainings, [&](KernelContext& c) -> Status {
    const Norm norm(c, *x, *channels);
    CardBatchNorm n{.scale = floats(scale),
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

int infer(DnnHandle handle, int, const void*, const void*, DnnTensor x, const void* x_data, DnnTensor, void* y_data,
          DnnTensor channels, const void* scale, const void* offset, const void* mean, const void* variance,
          double epsilon) {
  return answer(handle, fake->norms_answer, &fake->inferences, [&](KernelContext& c) {
    const Norm norm(c, *x, *channels);
    const CardBatchNorm n{.scale = floats(scale),
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

int norm_gradient(DnnHandle handle, int, const void*, const void*, const void*, const void*, DnnTensor x,
                  const void* x_data, DnnTensor, const void* dy, DnnTensor, void* dx, DnnTensor channels,
                  const void* scale, void* dscale, void* doffset, double, const void* saved_mean,
                  const void* saved_inverse) {
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
    const CardBatchNormGradient n{.scale = floats(scale),
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
CardAxis pooled_axis(int in, int window, int stride, int pad, int out) {
  EXPECT_EQ(out, (in + 2 * pad - window) / stride + 1);
  return {in, window, stride, 1, out, pad};
}
CardPool card_pool(const DnnPoolingObject& p, const DnnTensorObject& x, const DnnTensorObject& y) {
  const bool nchw = x.format == kDnnNchw;
  EXPECT_EQ(p.nan, kDnnNanNeverWins);
  return {nchw ? static_cast<i64>(x.n) * x.c : x.n, nchw ? 1 : x.c,
          pooled_axis(x.h, p.window_h, p.stride_h, p.pad_h, y.h),
          pooled_axis(x.w, p.window_w, p.stride_w, p.pad_w, y.w)};
}
i64 elements_of(const DnnTensorObject& t) { return static_cast<i64>(t.n) * t.c * t.h * t.w; }

int pool(DnnHandle handle, DnnPooling p, const void*, DnnTensor x, const void* x_data, const void*, DnnTensor y,
         void* y_data) {
  return answer(handle, fake->pools_answer, &fake->pools, [&](KernelContext& c) {
    const std::string kernel = p->mode == kDnnLargest ? "max_pool_" : "avg_pool_";
    return launch(c, {"pool", kernel + std::string(type_suffix(dtype_of(x->type)))}, grid_for(elements_of(*y)),
                  card_pool(*p, *x, *y), x_data, y_data);
  });
}
int pool_gradient(DnnHandle handle, DnnPooling p, const void*, DnnTensor y, const void* y_data, DnnTensor,
                  const void* dy_data, DnnTensor x, const void* x_data, const void*, DnnTensor, void* dx_data) {
  EXPECT_EQ(p->mode, kDnnMeanInside);
  EXPECT_TRUE(y_data != nullptr && x_data != nullptr);
  return answer(handle, fake->pools_answer, &fake->pool_gradients, [&](KernelContext& c) {
    return launch(c, {"pool", "avg_pool_grad_" + std::string(type_suffix(dtype_of(x->type)))},
                  grid_for(elements_of(*x)), card_pool(*p, *x, *y), dy_data, dx_data);
  });
}

// Rows of what lies together in each image.
LaunchShape softmax_blocks(const DnnTensorObject& t) {
  return {.grid = {.x = static_cast<unsigned>(t.n)}, .block = {.x = 64}};
}
int softmax(DnnHandle handle, int algorithm, int mode, const void*, DnnTensor x, const void* x_data, const void*,
            DnnTensor y, void* y_data) {
  EXPECT_EQ(mode, kDnnOfImage);
  EXPECT_EQ(x, y);
  EXPECT_NE(x_data, y_data);
  return answer(handle, fake->softmaxes_answer, &fake->softmaxes, [&](KernelContext& c) {
    return launch(c, {"softmax", str_cat("softmax_", type_suffix(dtype_of(x->type)))}, softmax_blocks(*x),
                  static_cast<i64>(x->n), elements_of(*x) / x->n, x_data, y_data, algorithm == kDnnLogSoftmax ? 1 : 0);
  });
}
int softmax_gradient(DnnHandle handle, int algorithm, int mode, const void*, DnnTensor y, const void* y_data, DnnTensor,
                     const void* dy_data, const void*, DnnTensor, void* dx_data) {
  EXPECT_EQ(mode, kDnnOfImage);
  EXPECT_NE(y_data, dx_data);
  return answer(handle, fake->softmaxes_answer, &fake->softmax_gradients, [&](KernelContext& c) {
    return launch(c, {"softmax", str_cat("softmax_gradient_", type_suffix(dtype_of(y->type)))}, softmax_blocks(*y),
                  static_cast<i64>(y->n), elements_of(*y) / y->n, y_data, dy_data, dx_data,
                  algorithm == kDnnLogSoftmax ? 1 : 0);
  });
}

}  // namespace

}  // namespace argosy::cuda::fake

namespace argosy::cuda {

struct DnnActivationObject {};

CudaBackend::Options fake::FakeDnn::found(CudaBackend::Options backend) {
  fake = this;
  backend.dnn = [](CudaDevice& device) {
    static std::mutex one_at_a_time;
    const std::lock_guard lock(one_at_a_time);
    opening = &device;
    auto dnn = Dnn::over(fake->calls());
    opening = nullptr;
    return dnn;
  };
  return backend;
}

DnnCalls fake::FakeDnn::calls() {
  fake = this;
  DnnCalls c;
  c.version = [] { return fake->library_version; };
  c.create = [](DnnHandle* h) {
    create(h);
    (*h)->device = opening;
    return 0;
  };
  c.destroy = [](DnnHandle h) { return destroy(h); };
  c.set_stream = [](DnnHandle, void*) { return 0; };
  c.tensor_create = [](DnnTensor* t) { return create(t); };
  c.tensor_destroy = [](DnnTensor t) { return destroy(t); };
  c.tensor_set = [](DnnTensor t, int format, int type, int n, int channels, int h, int w) {
    *t = {format, type, n, channels, h, w};
    return 0;
  };
  c.filter_create = [](DnnFilter* f) { return create(f); };
  c.filter_destroy = [](DnnFilter f) { return destroy(f); };
  c.filter_set = [](DnnFilter f, int type, int format, int out, int in, int h, int w) {
    *f = {type, format, out, in, h, w};
    return 0;
  };
  c.convolution_create = [](DnnConvolution* v) { return create(v); };
  c.convolution_destroy = [](DnnConvolution v) { return destroy(v); };
  c.convolution_set = [](DnnConvolution v, int pad_h, int pad_w, int stride_h, int stride_w, int dilation_h,
                         int dilation_w, int, int) {
    *v = {pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w, 1, 0};
    return 0;
  };
  c.convolution_set_groups = [](DnnConvolution v, int groups) { return v->groups = groups, 0; };
  c.convolution_set_math = [](DnnConvolution v, int math) { return v->math = math, 0; };
  c.activation_create = [](DnnActivation* a) { return create(a); };
  c.activation_destroy = [](DnnActivation a) { return destroy(a); };
  c.activation_set = [](DnnActivation, int, int, double) { return 0; };
  c.choose[kDnnForward] = choose<kDnnForward>;
  c.choose[kDnnTowardsImage] = choose<kDnnTowardsImage>;
  c.choose[kDnnTowardsFilter] = choose<kDnnTowardsFilter>;
  for (auto& call : c.workspace) call = workspace;
  c.convolve[kDnnForward] = convolve<kDnnForward>;
  c.convolve[kDnnTowardsImage] = convolve<kDnnTowardsImage>;
  c.convolve[kDnnTowardsFilter] = convolve<kDnnTowardsFilter>;
  c.convolve_bias_activation = convolve_bias_activation;
  c.normalise_training = train;
  c.normalise_inference = infer;
  c.normalise_gradient = norm_gradient;
  c.pooling_create = [](DnnPooling* p) { return create(p); };
  c.pooling_destroy = [](DnnPooling p) { return destroy(p); };
  c.pooling_set = [](DnnPooling p, int mode, int nan, int window_h, int window_w, int pad_h, int pad_w, int stride_h,
                     int stride_w) {
    *p = {mode, nan, window_h, window_w, pad_h, pad_w, stride_h, stride_w};
    return 0;
  };
  c.pool = fake::pool;
  c.pool_gradient = fake::pool_gradient;
  c.softmax = fake::softmax;
  c.softmax_gradient = fake::softmax_gradient;
  return c;
}

}  // namespace argosy::cuda
