// cuDNN's constants for graphs of operations, under our own names: descriptor kinds, attributes, attribute types.
// dnn_calls_check.cc compares them with the vendor's header where that is installed.
#pragma once

namespace argosy::cuda {

// Descriptor kinds.
namespace dnn_kind {
inline constexpr int kPointwise = 0, kConvolution = 1, kEngine = 2, kConfiguration = 3, kHeuristics = 4, kPlan = 5;
inline constexpr int kConvolutionForward = 10, kConvolutionTowardsFilter = 11, kConvolutionTowardsImage = 12;
inline constexpr int kPointwiseOperation = 13, kGraph = 15, kPack = 16, kTensor = 17;
inline constexpr int kDevice = 38;  // properties of a device; 9.8 and newer
}  // namespace dnn_kind

// Attribute types.
namespace dnn_type_of {
inline constexpr int kHandle = 0, kDataType = 1, kBoolean = 2, kInt64 = 3, kFloat = 4, kDouble = 5, kPointer = 6;
inline constexpr int kConvolutionMode = 7, kHeuristicsMode = 8, kNumericalNote = 11, kPointwiseMode = 14;
inline constexpr int kDescriptor = 15, kText = 24;
}  // namespace dnn_type_of

namespace dnn_attr {
inline constexpr int kPointwiseMode = 0, kPointwiseType = 1;
inline constexpr int kConvolutionType = 100, kConvolutionMode = 101, kConvolutionDilations = 102;
inline constexpr int kConvolutionStrides = 103, kConvolutionPadAfter = 104, kConvolutionPadBefore = 105;
inline constexpr int kConvolutionAxes = 106;
inline constexpr int kHeuristicsMode = 200, kHeuristicsGraph = 201, kHeuristicsResults = 202, kHeuristicsDevice = 204;
inline constexpr int kConfigurationEngine = 300;
inline constexpr int kPlanHandle = 400, kPlanConfiguration = 401, kPlanWorkspace = 402, kPlanDevice = 407;
inline constexpr int kForwardAlpha = 700, kForwardBeta = 701, kForwardConvolution = 702, kForwardFilter = 703;
inline constexpr int kForwardImage = 704, kForwardResult = 705;
inline constexpr int kImageAlpha = 706, kImageBeta = 707, kImageConvolution = 708, kImageFilter = 709;
inline constexpr int kImageResult = 710, kImageGradient = 711;  // dx, dy
inline constexpr int kFilterAlpha = 712, kFilterBeta = 713, kFilterConvolution = 714, kFilterResult = 715;
inline constexpr int kFilterImage = 716, kFilterGradient = 717;  // x, dy
inline constexpr int kPointwiseOf = 750, kPointwiseX = 751, kPointwiseB = 752, kPointwiseY = 753;
inline constexpr int kGraphHandle = 800, kGraphOperations = 801;
inline constexpr int kTensorAlignment = 900, kTensorType = 901, kTensorSizes = 902, kTensorStrides = 903;
inline constexpr int kTensorId = 906, kTensorInside = 907;
inline constexpr int kPackIds = 1000, kPackPointers = 1001, kPackWorkspace = 1003;
inline constexpr int kEngineNumber = 1301, kEngineNotes = 1303;
inline constexpr int kDeviceText = 2702;
}  // namespace dnn_attr

// Heuristics: engines that should be fast, best first; engines for graphs that others do not support.
inline constexpr int kDnnHeuristicsFast = 3, kDnnHeuristicsFallback = 2;

// Numerical notes of an engine.
inline constexpr int kDnnNoteTensorCore = 0;      // of float32: rounded to TensorFloat-32
inline constexpr int kDnnNoteInputsNarrowed = 1;  // to a shorter type
inline constexpr int kDnnNoteSumsNarrowed = 2;    // sums of 16 bits
inline constexpr int kDnnNoteNotDeterministic = 4;
inline constexpr int kDnnNotes = 10;  // there are so many

inline constexpr int kDnnPointwiseAdd = 0, kDnnPointwiseRelu = 100;

}  // namespace argosy::cuda
