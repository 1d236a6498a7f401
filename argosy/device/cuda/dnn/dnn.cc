#include "argosy/device/cuda/dnn/dnn.h"

#include <cstdlib>

#include "argosy/base/log.h"
#include "argosy/device/cuda/driver/library.h"

namespace argosy::cuda {

std::string dnn_error(const DnnCalls& calls, int status) {
  char said[512] = {};
  calls.last_error(said, sizeof said - 1);
  return str_cat(status, " (", calls.error_text(status), said[0] == 0 ? "" : str_cat(": ", said), ")");
}

namespace {

Status failed(const DnnCalls& calls, std::string_view what, int status) {
  return internal_error("cuDNN: ", what, " failed with ", dnn_error(calls, status)).with_id("ARG-GPU-014");
}

// The error of a library that does not start. The hint suggests another copy of it where that may help.
Status does_not_start(const DnnCalls& calls, int status) {
  Status failure = failed(calls, "create", status);
  if (status != kDnnNotReady && !dnn_not_supported(status)) return failure;
  return std::move(failure).with_hint(
      "GPUs before compute capability 7.5 need a cuDNN before 9.11, and old drivers one for CUDA 12: "
      "pip install 'nvidia-cudnn-cu12<9.11', or ARGOSY_CUDA_LIBRARIES=FOLDER; ARGOSY_CUDNN=own goes without");
}

}  // namespace

Status Dnn::answer(std::string_view what, int status) const {
  if (status == 0) return ok_status();
  const bool has_none = dnn_not_supported(status);
  const bool mistake =
      status / 1000 == kDnnBadParameter / 1000 || status == kDnnPartOfOther || status == kDnnPartMissing;
  if (!has_none && !mistake) return failed(calls_, what, status);
  const std::string text = str_cat("cuDNN refuses ", what, " with ", dnn_error(calls_, status));
  if (mistake) {
    MutexLock lock(told_mutex_);
    if (told_.insert(text).second) ARGOSY_LOG(kWarning, text, "; our own kernels do it");
  }
  return unimplemented(text);
}

int dnn_type(DType dtype) {
  switch (dtype) {
    case DType::kFloat64: return kDnnDouble;
    case DType::kFloat16: return kDnnHalf;
    case DType::kBfloat16: return kDnnBfloat16;
    default: return kDnnFloat;
  }
}

const void* dnn_one(DType dtype) {
  static constexpr float kOne = 1;
  static constexpr double kWide = 1;
  return dtype == DType::kFloat64 ? static_cast<const void*>(&kWide) : &kOne;
}
const void* dnn_zero(DType dtype) {
  static constexpr float kZero = 0;
  static constexpr double kWide = 0;
  return dtype == DType::kFloat64 ? static_cast<const void*>(&kWide) : &kZero;
}

Result<std::shared_ptr<Dnn>> Dnn::over(const DnnCalls& calls) {
  DnnHandle handle = nullptr;
  // The first handle initialises the library. Its manual asks that this ends before other threads make handles.
  static Mutex one_at_a_time;
  MutexLock lock(one_at_a_time);
  if (const int status = calls.create(&handle); status != 0) return does_not_start(calls, status);
  return std::shared_ptr<Dnn>(new Dnn(calls, handle));
}

Dnn::~Dnn() { calls_.destroy(handle_); }

Result<std::shared_ptr<Dnn>> Dnn::open() {
  const char* const setting = std::getenv("ARGOSY_CUDNN");
  if (setting != nullptr && std::string_view(setting) == "own") return unimplemented("ARGOSY_CUDNN=own");
  DnnCalls calls;
  const auto fits = [&](const Library& library) -> Status {
    ARGOSY_ASSIGN_OR_RETURN(calls, calls_of(library));
    return ok_status();
  };
  ARGOSY_RETURN_IF_ERROR(Library::open(cudnn_wanted(), fits).status());
  return over(calls);
}

Result<DnnCalls> Dnn::calls_of(const Library& library) {
  DnnCalls c;
  bool whole = true;
  const auto find = [&](auto& call, const char* name) { whole = library.find(&call, name) && whole; };
  find(c.version, "cudnnGetVersion");
  find(c.error_text, "cudnnGetErrorString");
  find(c.create, "cudnnCreate");
  find(c.destroy, "cudnnDestroy");
  find(c.set_stream, "cudnnSetStream");
  find(c.last_error, "cudnnGetLastErrorString");
  find(c.tensor_create, "cudnnCreateTensorDescriptor");
  find(c.tensor_destroy, "cudnnDestroyTensorDescriptor");
  find(c.tensor_set, "cudnnSetTensor4dDescriptor");
  find(c.graph_create, "cudnnBackendCreateDescriptor");
  find(c.graph_destroy, "cudnnBackendDestroyDescriptor");
  find(c.graph_set, "cudnnBackendSetAttribute");
  find(c.graph_get, "cudnnBackendGetAttribute");
  find(c.graph_finish, "cudnnBackendFinalize");
  find(c.graph_execute, "cudnnBackendExecute");
  find(c.normalise_training, "cudnnBatchNormalizationForwardTraining");
  find(c.normalise_inference, "cudnnBatchNormalizationForwardInference");
  find(c.normalise_gradient, "cudnnBatchNormalizationBackward");
  find(c.pooling_create, "cudnnCreatePoolingDescriptor");
  find(c.pooling_destroy, "cudnnDestroyPoolingDescriptor");
  find(c.pooling_set, "cudnnSetPooling2dDescriptor");
  find(c.pool, "cudnnPoolingForward");
  find(c.pool_gradient, "cudnnPoolingBackward");
  find(c.softmax, "cudnnSoftmaxForward");
  find(c.softmax_gradient, "cudnnSoftmaxBackward");
  // 90500: 9.5.0. Without one of the calls it is none that we know.
  const int version = whole ? static_cast<int>(c.version() / 100) * 10 : 0;
  ARGOSY_RETURN_IF_ERROR(check_library_version(cudnn_wanted(), library.path(), version, 9000));
  return c;
}

}  // namespace argosy::cuda
