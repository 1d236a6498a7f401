#include "argosy/device/cuda/dnn.h"

#include <cstdlib>

#include "argosy/device/cuda/library.h"

namespace argosy::cuda {

Status dnn_failed(std::string_view call, int status) {
  return internal_error("cuDNN: ", call, " failed with ", status).with_id("ARG-GPU-014");
}

std::string dnn_error(int status, const DnnCalls& calls) {
  char text[512] = {};
  calls.last_error(text, sizeof text - 1);
  return text[0] == 0 ? str_cat(status) : str_cat(status, " (", text, ")");
}
Status dnn_failed(std::string_view call, int status, const DnnCalls& calls) {
  return internal_error("cuDNN: ", call, " failed with ", dnn_error(status, calls)).with_id("ARG-GPU-014");
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
  if (const int status = calls.create(&handle); status != 0) return dnn_failed("create", status);
  return std::shared_ptr<Dnn>(new Dnn(calls, handle));
}

Dnn::~Dnn() { calls_.destroy(handle_); }

Result<std::shared_ptr<Dnn>> Dnn::open() {
  ARGOSY_ASSIGN_OR_RETURN(const DnnCalls calls, open_calls());
  return over(calls);
}

Result<DnnCalls> Dnn::open_calls() {
  const char* const setting = std::getenv("ARGOSY_CUDNN");
  if (setting != nullptr && std::string_view(setting) == "own") return unimplemented("ARGOSY_CUDNN=own");
  const LibraryWanted wanted = cudnn_wanted();
  ARGOSY_ASSIGN_OR_RETURN(const std::shared_ptr<Library> library, Library::open(wanted));
  DnnCalls c;
  bool whole = true;
  const auto find = [&](auto& call, const char* name) { whole = library->find(&call, name) && whole; };
  find(c.version, "cudnnGetVersion");
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
  ARGOSY_RETURN_IF_ERROR(check_library_version(wanted, library->path(), version, 9000));
  return c;
}

}  // namespace argosy::cuda
