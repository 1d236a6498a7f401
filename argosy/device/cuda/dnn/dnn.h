// Dnn: cuDNN on one device: its handle, its errors as Status, its descriptors. The calls themselves are with the ops
// that use them: convolution, batch normalisation, pooling, softmax (argosy/ops).
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

// The library's status code with its meaning, and the library's last message on this thread.
std::string dnn_error(const DnnCalls& calls, int status);
// True when the library does not support the request.
inline bool dnn_not_supported(int status) { return status / 1000 == kDnnNotSupported / 1000; }

// The library's constant for a floating-point dtype.
int dnn_type(DType dtype);
// Pointers to the scaling factors 1 and 0 in host memory: float64 for float64, float32 for all other dtypes.
const void* dnn_one(DType dtype);
const void* dnn_zero(DType dtype);

// Thread-safe. Must be destroyed before the device's context, so the device owns it (CudaDevice::dnn), not a kernel.
class Dnn {
 public:
  // Over a given table: for tests.
  static Result<std::shared_ptr<Dnn>> over(const DnnCalls& calls);
  // The calls of a library. UNAVAILABLE (ARG-GPU-012): it is older than 9.0, or lacks a function.
  static Result<DnnCalls> calls_of(const Library& library);
  // Opens the library of this machine (library.h). UNIMPLEMENTED: $ARGOSY_CUDNN=own disables it.
  static Result<std::shared_ptr<Dnn>> open();
  ~Dnn();
  Dnn(const Dnn&) = delete;
  Dnn& operator=(const Dnn&) = delete;

  const DnnCalls& calls() const { return calls_; }
  // The library's status code for the request `what` as a Status.
  // * UNIMPLEMENTED: nothing was started. The library does not support the request, rejects a parameter, or lacks a
  //   part of itself; the last two are logged once.
  // * INTERNAL (ARG-GPU-014): anything else.
  Status answer(std::string_view what, int status) const;
  // Calls work(handle); work that it enqueues goes to `stream`. One caller at a time.
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

// An object T(dnn) that the device keeps, made on first use. `key` identifies it.
template <typename T>
Result<std::shared_ptr<T>> over_dnn(CudaDevice& device, std::string_view key) {
  ARGOSY_ASSIGN_OR_RETURN(const std::shared_ptr<Dnn> dnn, device.dnn());
  return std::static_pointer_cast<T>(device.keep(key, [&] { return std::make_shared<T>(dnn); }));
}

// A descriptor of the library; owned.
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

// Descriptors and plans by problem, made when a problem occurs for the first time. So a steady step makes none.
// Thread-safe; the address of a plan does not change.
template <typename Problem, typename Plan>
class DnnPlans {
 public:
  // make(plan) fills in a new plan; on an error no plan is stored. Later writes to a plan happen within Dnn::on().
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
