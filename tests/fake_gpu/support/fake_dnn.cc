#include "tests/fake_gpu/support/fake_dnn.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "tests/fake_gpu/support/dnn_rules.h"
#include "tests/fake_gpu/support/fake_dnn_internal.h"

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

}  // namespace

}  // namespace argosy::cuda::fake

namespace argosy::cuda {

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
  c.last_error = [](char* text, std::size_t bytes) { std::snprintf(text, bytes, "as it was told"); };
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
  c.pooling_create = [](DnnPooling* p) { return create(p); };
  c.pooling_destroy = [](DnnPooling p) { return destroy(p); };
  fake::add_images(c);
  fake::add_graphs(c);
  return c;
}

}  // namespace argosy::cuda
