#include "tests/cuda/fake_dnn.h"

#include <gtest/gtest.h>

#include "argosy/ops/conv/windows_cuda.h"
#include "argosy/ops/launching.h"
#include "argosy/ops/layout/card_mover.h"
#include "tests/cuda/dnn_rules.h"
#include "tests/cuda/fake_dnn_parts.h"

namespace argosy::cuda::fake {

FakeDnn* fake = nullptr;
std::mutex counting;

void expect_stream(const DnnHandleObject& handle) {
  if (handle.device == nullptr) return;
  EXPECT_EQ(handle.stream, static_cast<void*>(handle.device->stream().value()));
}

namespace {

CudaDevice* opening = nullptr;  // whose handle is made next

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

// The operands of a convolution, by what they are.
struct Operands {
  const DnnTensorObject& image;
  const DnnFilterObject& filter;
  const DnnTensorObject& output;
};
template <int kDirection>
Operands operands_of(const void* first, const void* second, const void* result) {
  const auto tensor = [](const void* p) -> const DnnTensorObject& { return *static_cast<const DnnTensorObject*>(p); };
  const auto filter = [](const void* p) -> const DnnFilterObject& { return *static_cast<const DnnFilterObject*>(p); };
  if constexpr (kDirection == kDnnForward) return {tensor(first), filter(second), tensor(result)};
  if constexpr (kDirection == kDnnTowardsImage) return {tensor(result), filter(first), tensor(second)};
  return {tensor(first), filter(result), tensor(second)};
}

int answer(DnnHandle handle, const DnnConvolutionObject& conv, int algorithm, std::size_t workspace_bytes,
           const void* workspace, const std::function<Status(CudaDevice&)>& work) {
  expect_stream(*handle);
  std::unique_lock lock(counting);
  fake->tried.push_back(algorithm);
  if (const auto at = fake->status_of.find(algorithm); at != fake->status_of.end()) return at->second;
  for (const DnnChoice& c : fake->algorithms) {
    if (c.algorithm != algorithm) continue;
    EXPECT_EQ(workspace_bytes, c.workspace_bytes);
    EXPECT_EQ(workspace != nullptr, workspace_bytes > 0);
  }
  ++fake->convolutions;
  fake->maths.push_back(conv.math);
  lock.unlock();
  if (handle->device == nullptr) return 0;
  const Status done = work(*handle->device);
  EXPECT_TRUE(done.ok()) << done.to_string();
  return done.ok() ? 0 : 1;
}

template <int kDirection>
int choose(DnnHandle, const void* first, const void* second, DnnConvolution conv, const void* result, int most,
           int* found, DnnChoice* to) {
  const std::lock_guard lock(counting);
  ++fake->choices;
  const Operands of = operands_of<kDirection>(first, second, result);
  *found = 0;
  if (const int refused = convolution_rule(of.image, of.filter, of.output, *conv); refused != 0) {
    ADD_FAILURE() << "a convolution that cuDNN refuses with " << refused;
    return refused;
  }
  if (fake->only_format >= 0 && of.image.format != fake->only_format) return 0;
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
int convolve(DnnHandle handle, const void* alpha, const void* first, const void* first_data, const void* second,
             const void* second_data, DnnConvolution conv, int algorithm, void* memory, std::size_t bytes,
             const void* beta, const void* result, void* result_data) {
  expect_plain_scaling(operands_of<kDirection>(first, second, result).image.type, alpha, beta);
  return answer(handle, *conv, algorithm, bytes, memory, [&](CudaDevice& device) -> Status {
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
  return answer(handle, *conv, algorithm, bytes, memory, [&](CudaDevice& device) {
    return run(device, kDnnForward, *image, *filter, *result, *conv, image_data, filter_data, nullptr, bias_data,
               result_data);
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
  c.error_text = [](int) { return "CUDNN_STATUS_OF_A_FAKE"; };
  c.create = [](DnnHandle* h) {
    create(h);
    (*h)->device = opening;
    return 0;
  };
  c.destroy = [](DnnHandle h) { return destroy(h); };
  c.set_stream = [](DnnHandle h, void* stream) { return h->stream = stream, 0; };
  c.tensor_create = [](DnnTensor* t) { return create(t); };
  c.tensor_destroy = [](DnnTensor t) { return destroy(t); };
  c.tensor_set = [](DnnTensor t, int format, int type, int n, int channels, int h, int w) {
    *t = {format, type, n, channels, h, w};
    return fake::tensor_rule(format, type, {n, channels, h, w});
  };
  c.filter_create = [](DnnFilter* f) { return create(f); };
  c.filter_destroy = [](DnnFilter f) { return destroy(f); };
  c.filter_set = [](DnnFilter f, int type, int format, int out, int in, int h, int w) {
    *f = {type, format, out, in, h, w};
    return fake::filter_rule(format, type, {out, in, h, w});
  };
  c.convolution_create = [](DnnConvolution* v) { return create(v); };
  c.convolution_destroy = [](DnnConvolution v) { return destroy(v); };
  c.convolution_set = [](DnnConvolution v, int pad_h, int pad_w, int stride_h, int stride_w, int dilation_h,
                         int dilation_w, int mode, int compute) {
    *v = {pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w, mode, compute, 1, 0};
    const bool fine = pad_h >= 0 && pad_w >= 0 && stride_h > 0 && stride_w > 0 && dilation_h > 0 && dilation_w > 0 &&
                      compute != kDnnBfloat16;
    return fine ? 0 : kDnnBadParameter;
  };
  c.convolution_set_groups = [](DnnConvolution v, int groups) {
    return v->groups = groups, groups > 0 ? 0 : kDnnBadParameter;
  };
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
  c.pooling_create = [](DnnPooling* p) { return create(p); };
  c.pooling_destroy = [](DnnPooling p) { return destroy(p); };
  fake::add_images(c);
  return c;
}

}  // namespace argosy::cuda
