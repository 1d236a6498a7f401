// Our declarations of cuDNN held to the vendor's header: compiled into the plug-in wherever that header is.
#include "argosy/device/cuda/dnn_calls.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include <cudnn.h>

#include "argosy/device/cuda/calls_check.h"

namespace argosy::cuda {

static_assert(kDnnFloat == CUDNN_DATA_FLOAT && kDnnDouble == CUDNN_DATA_DOUBLE && kDnnHalf == CUDNN_DATA_HALF);
static_assert(kDnnBfloat16 == CUDNN_DATA_BFLOAT16);
static_assert(kDnnNchw == CUDNN_TENSOR_NCHW && kDnnNhwc == CUDNN_TENSOR_NHWC);
static_assert(kDnnCrossCorrelation == CUDNN_CROSS_CORRELATION);
static_assert(kDnnDefaultMath == CUDNN_DEFAULT_MATH && kDnnTensorOps == CUDNN_TENSOR_OP_MATH);
static_assert(kDnnFmaMath == CUDNN_FMA_MATH);
static_assert(kDnnDeterministic == CUDNN_DETERMINISTIC && kDnnRelu == CUDNN_ACTIVATION_RELU);
static_assert(kDnnPerChannel == CUDNN_BATCHNORM_SPATIAL && kDnnLeastEpsilon == CUDNN_BN_MIN_EPSILON);
static_assert(kDnnLargest == CUDNN_POOLING_MAX && kDnnMeanInside == CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING);
static_assert(kDnnNanNeverWins == CUDNN_NOT_PROPAGATE_NAN);
static_assert(kDnnSoftmax == CUDNN_SOFTMAX_ACCURATE && kDnnLogSoftmax == CUDNN_SOFTMAX_LOG);
static_assert(kDnnOfImage == CUDNN_SOFTMAX_MODE_INSTANCE);
static_assert(kDnnNotReady == CUDNN_STATUS_NOT_INITIALIZED);
static_assert(kDnnPartOfOther == CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH);
static_assert(kDnnPartMissing == CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED);
static_assert(kDnnBadParameter == CUDNN_STATUS_BAD_PARAM && kDnnNotSupported == CUDNN_STATUS_NOT_SUPPORTED);

template <typename Perf>
constexpr bool kSameLayout = sizeof(DnnChoice) == sizeof(Perf) &&
                             offsetof(DnnChoice, algorithm) == offsetof(Perf, algo) &&
                             offsetof(DnnChoice, status) == offsetof(Perf, status) &&
                             offsetof(DnnChoice, milliseconds) == offsetof(Perf, time) &&
                             offsetof(DnnChoice, workspace_bytes) == offsetof(Perf, memory) &&
                             offsetof(DnnChoice, determinism) == offsetof(Perf, determinism) &&
                             offsetof(DnnChoice, math) == offsetof(Perf, mathType);
static_assert(kSameLayout<cudnnConvolutionFwdAlgoPerf_t>);
static_assert(kSameLayout<cudnnConvolutionBwdDataAlgoPerf_t>);
static_assert(kSameLayout<cudnnConvolutionBwdFilterAlgoPerf_t>);

#define ARGOSY_ALIKE(member, function) \
  static_assert(kAlike<std::remove_reference_t<decltype(DnnCalls().member)>, decltype(function)>)
ARGOSY_ALIKE(version, cudnnGetVersion);
ARGOSY_ALIKE(error_text, cudnnGetErrorString);
ARGOSY_ALIKE(create, cudnnCreate);
ARGOSY_ALIKE(destroy, cudnnDestroy);
ARGOSY_ALIKE(set_stream, cudnnSetStream);
ARGOSY_ALIKE(tensor_create, cudnnCreateTensorDescriptor);
ARGOSY_ALIKE(tensor_destroy, cudnnDestroyTensorDescriptor);
ARGOSY_ALIKE(tensor_set, cudnnSetTensor4dDescriptor);
ARGOSY_ALIKE(filter_create, cudnnCreateFilterDescriptor);
ARGOSY_ALIKE(filter_destroy, cudnnDestroyFilterDescriptor);
ARGOSY_ALIKE(filter_set, cudnnSetFilter4dDescriptor);
ARGOSY_ALIKE(convolution_create, cudnnCreateConvolutionDescriptor);
ARGOSY_ALIKE(convolution_destroy, cudnnDestroyConvolutionDescriptor);
ARGOSY_ALIKE(convolution_set, cudnnSetConvolution2dDescriptor);
ARGOSY_ALIKE(convolution_set_groups, cudnnSetConvolutionGroupCount);
ARGOSY_ALIKE(convolution_set_math, cudnnSetConvolutionMathType);
ARGOSY_ALIKE(activation_create, cudnnCreateActivationDescriptor);
ARGOSY_ALIKE(activation_destroy, cudnnDestroyActivationDescriptor);
ARGOSY_ALIKE(activation_set, cudnnSetActivationDescriptor);
ARGOSY_ALIKE(choose[0], cudnnGetConvolutionForwardAlgorithm_v7);
ARGOSY_ALIKE(choose[1], cudnnGetConvolutionBackwardDataAlgorithm_v7);
ARGOSY_ALIKE(choose[2], cudnnGetConvolutionBackwardFilterAlgorithm_v7);
ARGOSY_ALIKE(workspace[0], cudnnGetConvolutionForwardWorkspaceSize);
ARGOSY_ALIKE(workspace[1], cudnnGetConvolutionBackwardDataWorkspaceSize);
ARGOSY_ALIKE(workspace[2], cudnnGetConvolutionBackwardFilterWorkspaceSize);
ARGOSY_ALIKE(convolve[0], cudnnConvolutionForward);
ARGOSY_ALIKE(convolve[1], cudnnConvolutionBackwardData);
ARGOSY_ALIKE(convolve[2], cudnnConvolutionBackwardFilter);
ARGOSY_ALIKE(convolve_bias_activation, cudnnConvolutionBiasActivationForward);
ARGOSY_ALIKE(normalise_training, cudnnBatchNormalizationForwardTraining);
ARGOSY_ALIKE(normalise_inference, cudnnBatchNormalizationForwardInference);
ARGOSY_ALIKE(normalise_gradient, cudnnBatchNormalizationBackward);
ARGOSY_ALIKE(pooling_create, cudnnCreatePoolingDescriptor);
ARGOSY_ALIKE(pooling_destroy, cudnnDestroyPoolingDescriptor);
ARGOSY_ALIKE(pooling_set, cudnnSetPooling2dDescriptor);
ARGOSY_ALIKE(pool, cudnnPoolingForward);
ARGOSY_ALIKE(pool_gradient, cudnnPoolingBackward);
ARGOSY_ALIKE(softmax, cudnnSoftmaxForward);
ARGOSY_ALIKE(softmax_gradient, cudnnSoftmaxBackward);

}  // namespace argosy::cuda
