// Compares our declarations of cuDNN with the vendor's header. Compiled into the plug-in where that header is
// installed.
#include "argosy/device/cuda/dnn/dnn_calls.h"
#include "argosy/device/cuda/dnn/dnn_graph_numbers.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include <cudnn.h>

#include "argosy/device/cuda/driver/calls_check.h"

namespace argosy::cuda {

static_assert(kDnnFloat == CUDNN_DATA_FLOAT && kDnnDouble == CUDNN_DATA_DOUBLE && kDnnHalf == CUDNN_DATA_HALF);
static_assert(kDnnBfloat16 == CUDNN_DATA_BFLOAT16);
static_assert(kDnnNchw == CUDNN_TENSOR_NCHW && kDnnNhwc == CUDNN_TENSOR_NHWC);
static_assert(kDnnCrossCorrelation == CUDNN_CROSS_CORRELATION);
static_assert(kDnnPerChannel == CUDNN_BATCHNORM_SPATIAL && kDnnLeastEpsilon == CUDNN_BN_MIN_EPSILON);
static_assert(kDnnLargest == CUDNN_POOLING_MAX && kDnnMeanInside == CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING);
static_assert(kDnnNanNeverWins == CUDNN_NOT_PROPAGATE_NAN);
static_assert(kDnnSoftmax == CUDNN_SOFTMAX_ACCURATE && kDnnLogSoftmax == CUDNN_SOFTMAX_LOG);
static_assert(kDnnOfImage == CUDNN_SOFTMAX_MODE_INSTANCE);
static_assert(kDnnNotReady == CUDNN_STATUS_NOT_INITIALIZED);
static_assert(kDnnPartOfOther == CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH);
static_assert(kDnnPartMissing == CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED);
static_assert(kDnnBadParameter == CUDNN_STATUS_BAD_PARAM && kDnnNotSupported == CUDNN_STATUS_NOT_SUPPORTED);

static_assert(dnn_kind::kPointwise == CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
static_assert(dnn_kind::kConvolution == CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
static_assert(dnn_kind::kEngine == CUDNN_BACKEND_ENGINE_DESCRIPTOR);
static_assert(dnn_kind::kConfiguration == CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
static_assert(dnn_kind::kHeuristics == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
static_assert(dnn_kind::kPlan == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
static_assert(dnn_kind::kConvolutionForward == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
static_assert(dnn_kind::kConvolutionTowardsFilter == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR);
static_assert(dnn_kind::kConvolutionTowardsImage == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR);
static_assert(dnn_kind::kPointwiseOperation == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
static_assert(dnn_kind::kGraph == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
static_assert(dnn_kind::kPack == CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
static_assert(dnn_kind::kTensor == CUDNN_BACKEND_TENSOR_DESCRIPTOR);
static_assert(dnn_type_of::kHandle == CUDNN_TYPE_HANDLE);
static_assert(dnn_type_of::kDataType == CUDNN_TYPE_DATA_TYPE);
static_assert(dnn_type_of::kBoolean == CUDNN_TYPE_BOOLEAN);
static_assert(dnn_type_of::kInt64 == CUDNN_TYPE_INT64);
static_assert(dnn_type_of::kFloat == CUDNN_TYPE_FLOAT);
static_assert(dnn_type_of::kDouble == CUDNN_TYPE_DOUBLE);
static_assert(dnn_type_of::kPointer == CUDNN_TYPE_VOID_PTR);
static_assert(dnn_type_of::kConvolutionMode == CUDNN_TYPE_CONVOLUTION_MODE);
static_assert(dnn_type_of::kHeuristicsMode == CUDNN_TYPE_HEUR_MODE);
static_assert(dnn_type_of::kNumericalNote == CUDNN_TYPE_NUMERICAL_NOTE);
static_assert(dnn_type_of::kPointwiseMode == CUDNN_TYPE_POINTWISE_MODE);
static_assert(dnn_type_of::kDescriptor == CUDNN_TYPE_BACKEND_DESCRIPTOR);
static_assert(dnn_type_of::kText == CUDNN_TYPE_CHAR);
static_assert(dnn_attr::kPointwiseMode == CUDNN_ATTR_POINTWISE_MODE);
static_assert(dnn_attr::kPointwiseType == CUDNN_ATTR_POINTWISE_MATH_PREC);
static_assert(dnn_attr::kConvolutionType == CUDNN_ATTR_CONVOLUTION_COMP_TYPE);
static_assert(dnn_attr::kConvolutionMode == CUDNN_ATTR_CONVOLUTION_CONV_MODE);
static_assert(dnn_attr::kConvolutionDilations == CUDNN_ATTR_CONVOLUTION_DILATIONS);
static_assert(dnn_attr::kConvolutionStrides == CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
static_assert(dnn_attr::kConvolutionPadAfter == CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
static_assert(dnn_attr::kConvolutionPadBefore == CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
static_assert(dnn_attr::kConvolutionAxes == CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
static_assert(dnn_attr::kHeuristicsMode == CUDNN_ATTR_ENGINEHEUR_MODE);
static_assert(dnn_attr::kHeuristicsGraph == CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
static_assert(dnn_attr::kHeuristicsResults == CUDNN_ATTR_ENGINEHEUR_RESULTS);
static_assert(dnn_attr::kConfigurationEngine == CUDNN_ATTR_ENGINECFG_ENGINE);
static_assert(dnn_attr::kPlanHandle == CUDNN_ATTR_EXECUTION_PLAN_HANDLE);
static_assert(dnn_attr::kPlanConfiguration == CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
static_assert(dnn_attr::kPlanWorkspace == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
static_assert(dnn_attr::kForwardAlpha == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA);
static_assert(dnn_attr::kForwardBeta == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA);
static_assert(dnn_attr::kForwardConvolution == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC);
static_assert(dnn_attr::kForwardFilter == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W);
static_assert(dnn_attr::kForwardImage == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X);
static_assert(dnn_attr::kForwardResult == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y);
static_assert(dnn_attr::kImageAlpha == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA);
static_assert(dnn_attr::kImageBeta == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA);
static_assert(dnn_attr::kImageConvolution == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC);
static_assert(dnn_attr::kImageFilter == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W);
static_assert(dnn_attr::kImageResult == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX);
static_assert(dnn_attr::kImageGradient == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY);
static_assert(dnn_attr::kFilterAlpha == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA);
static_assert(dnn_attr::kFilterBeta == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA);
static_assert(dnn_attr::kFilterConvolution == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC);
static_assert(dnn_attr::kFilterResult == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW);
static_assert(dnn_attr::kFilterImage == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X);
static_assert(dnn_attr::kFilterGradient == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY);
static_assert(dnn_attr::kPointwiseOf == CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
static_assert(dnn_attr::kPointwiseX == CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
static_assert(dnn_attr::kPointwiseB == CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
static_assert(dnn_attr::kPointwiseY == CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
static_assert(dnn_attr::kGraphHandle == CUDNN_ATTR_OPERATIONGRAPH_HANDLE);
static_assert(dnn_attr::kGraphOperations == CUDNN_ATTR_OPERATIONGRAPH_OPS);
static_assert(dnn_attr::kTensorAlignment == CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
static_assert(dnn_attr::kTensorType == CUDNN_ATTR_TENSOR_DATA_TYPE);
static_assert(dnn_attr::kTensorSizes == CUDNN_ATTR_TENSOR_DIMENSIONS);
static_assert(dnn_attr::kTensorStrides == CUDNN_ATTR_TENSOR_STRIDES);
static_assert(dnn_attr::kTensorId == CUDNN_ATTR_TENSOR_UNIQUE_ID);
static_assert(dnn_attr::kTensorInside == CUDNN_ATTR_TENSOR_IS_VIRTUAL);
static_assert(dnn_attr::kPackIds == CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
static_assert(dnn_attr::kPackPointers == CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
static_assert(dnn_attr::kPackWorkspace == CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
static_assert(dnn_attr::kEngineNumber == CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
static_assert(dnn_attr::kEngineNotes == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE);
#if CUDNN_VERSION >= 90800
static_assert(dnn_kind::kDevice == CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
static_assert(dnn_attr::kDeviceText == CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION);
static_assert(dnn_attr::kHeuristicsDevice == CUDNN_ATTR_ENGINEHEUR_DEVICEPROP);
static_assert(dnn_attr::kPlanDevice == CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP);
#endif
static_assert(kDnnHeuristicsFast == CUDNN_HEUR_MODE_A && kDnnHeuristicsFallback == CUDNN_HEUR_MODE_FALLBACK);
static_assert(kDnnNoteTensorCore == CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
static_assert(kDnnNoteInputsNarrowed == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
static_assert(kDnnNoteSumsNarrowed == CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION);
static_assert(kDnnNoteNotDeterministic == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
static_assert(kDnnPointwiseAdd == CUDNN_POINTWISE_ADD && kDnnPointwiseRelu == CUDNN_POINTWISE_RELU_FWD);
// Attributes are read and written through pointers: their types have the sizes that ours have.
static_assert(sizeof(cudnnBackendDescriptor_t) == sizeof(void*) && sizeof(cudnnDataType_t) == sizeof(int));
static_assert(sizeof(cudnnBackendNumericalNote_t) == sizeof(int) && sizeof(cudnnBackendHeurMode_t) == sizeof(int));
static_assert(sizeof(cudnnPointwiseMode_t) == sizeof(int) && sizeof(cudnnConvolutionMode_t) == sizeof(int));

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
ARGOSY_ALIKE(graph_create, cudnnBackendCreateDescriptor);
ARGOSY_ALIKE(graph_destroy, cudnnBackendDestroyDescriptor);
ARGOSY_ALIKE(graph_set, cudnnBackendSetAttribute);
ARGOSY_ALIKE(graph_get, cudnnBackendGetAttribute);
ARGOSY_ALIKE(graph_finish, cudnnBackendFinalize);
ARGOSY_ALIKE(graph_execute, cudnnBackendExecute);
ARGOSY_ALIKE(last_error, cudnnGetLastErrorString);
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
