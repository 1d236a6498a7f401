// cuDNN on one device: its handle, its errors as ours, its descriptors. What it is asked lies with the ops that ask:
// convolutions, batch normalisation, pooling, softmax (argosy/ops).
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "argosy/base/mutex.h"
#include "argosy/base/status.h"
#include "argosy/device/cuda/cuda_device.h"
#include "argosy/device/cuda/dnn/dnn_calls.h"
#include "argosy/device/cuda/driver/library.h"
#include "argosy/tensor/dtype.h"

namespace argosy::cuda {

// The library's number with what it means, and what the library last said on this thread.
std::string dnn_error(const DnnCalls& calls, int status);
// It has no way for what it was asked.
inline bool dnn_not_supported(int status) { return status / 1000 == kDnnNotSupported / 1000; }

// Floating-point dtypes.
int dnn_type(DType dtype);
// What results are scaled with: float64's in float64, those of all else in float32. In the host's memory.
const void* dnn_one(DType dtype);
const void* dnn_zero(DType dtype);

// Thread-safe. It must be gone before the device's context is: kept by the device (CudaDevice::dnn), not by kernels.
class Dnn {
 public:
  // Over calls of one's own: tests.
  static Result<std::shared_ptr<Dnn>> over(const DnnCalls& calls);
  // A library's. UNAVAILABLE (ARG-GPU-012): it is older than 9.0, or lacks one.
  static Result<DnnCalls> calls_of(const Library& library);
  // The library as found (library.h). UNIMPLEMENTED: $ARGOSY_CUDNN=own goes without it.
  // REQUIRES: the device's context is current.
  static Result<std::shared_ptr<Dnn>> open();
  ~Dnn();
  Dnn(const Dnn&) = delete;
  Dnn& operator=(const Dnn&) = delete;

  const DnnCalls& calls() const { return calls_; }
  // What the library's number says of `what`. UNIMPLEMENTED: nothing was started, for it has no way for this, takes it
  // for a mistake, or lacks a part of itself; the last two are told in a warning, once. INTERNAL (ARG-GPU-014): all
  // else.
  Status answer(std::string_view what, int status) const;
  // work(handle), what it starts being started on `stream`. One caller at a time.
  template <typename Work>
  Status on(void* stream, const Work& work) {
    MutexLock lock(mutex_);
    if (const int status = calls_.set_stream(handle_, stream); status != 0) {
      return answer("the choice of a stream", status);
    }
    return work(handle_);
  }

 private:
  Dnn(const DnnCalls& calls, DnnHandle handle) : calls_(calls), handle_(handle) {}

  const DnnCalls calls_;
  mutable Mutex told_mutex_;
  mutable std::set<std::string> told_ ARGOSY_GUARDED_BY(told_mutex_);
  Mutex mutex_;
  const DnnHandle handle_;
};

// Something made over the library, kept by the device: T(dnn). Known by `key`.
template <typename T>
Result<std::shared_ptr<T>> over_dnn(CudaDevice& device, std::string_view key) {
  ARGOSY_ASSIGN_OR_RETURN(const std::shared_ptr<Dnn> dnn, device.dnn());
  return std::static_pointer_cast<T>(device.keep(key, [&] { return std::make_shared<T>(dnn); }));
}

// A descriptor of the library's. Owns it.
template <typename T>
class DnnObject {
 public:
  DnnObject() = default;
  ~DnnObject() {
    if (object_ != nullptr) destroy_(object_);
  }
  DnnObject(const DnnObject&) = delete;
  DnnObject& operator=(const DnnObject&) = delete;
  int make(int (*create)(T*), int (*destroy)(T)) {
    destroy_ = destroy;
    return create(&object_);
  }
  T get() const { return object_; }

 private:
  T object_ = nullptr;
  int (*destroy_)(T) = nullptr;
};

// What the library is asked with, by problem: made where a problem is met first, so that a steady step makes none.
// Thread-safe; plans stay where they are.
template <typename Problem, typename Plan>
class DnnPlans {
 public:
  // make(plan) fills in a new one; where it fails, there is none. What is written to a plan afterwards is written in
  // Dnn::on().
  template <typename Make>
  Result<Plan*> of(const Problem& problem, const Make& make) {
    MutexLock lock(mutex_);
    const auto [at, fresh] = plans_.try_emplace(problem);
    if (fresh) {
      if (Status made = make(at->second); !made.ok()) {
        plans_.erase(at);
        return made;
      }
    }
    return &at->second;
  }

 private:
  Mutex mutex_;
  std::map<Problem, Plan> plans_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy::cuda
