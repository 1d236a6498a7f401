// Opcode: what an op computes, for rewrites that look for a pattern of ops (OpSpec::opcode), as XLA's HloOpcode.
//
//   Mul(Sub(dy, Sum(Mul(dy, y))), y)  ->  _SoftmaxGrad(y, dy)        argosy/passes/fuse/fuse_softmax_gradient.h
//
// Ops that compute the same share an opcode: Add and AddV2, the versions of FusedBatchNorm. An op has one only where a
// rewrite asks for it; all others are kNone. A new op may take an opcode if it has the inputs, outputs and attributes
// that are said here, and computes the same of them. Then rewrites may put another op in its place.
#pragma once

namespace argosy {

enum class Opcode : char {
  kNone,
  // Elementwise, of one input, or of two that are broadcast.
  kAdd,
  kSubtract,
  kMultiply,
  kExp,
  kRelu,
  kReluGrad,  // (gradient, features): the gradient where features > 0
  kIdentity,
  kSnapshot,  // its input, which later updates of a variable leave as it is
  // Over axes and windows.
  kSum,          // (x, axes), attribute "keep_dims"
  kBiasAdd,      // (x, bias), attribute "data_format"
  kSoftmax,      // along the last axis
  kLogSoftmax,   // along the last axis
  kMaxPool,      // (image)
  kMaxPoolGrad,  // (image, pooled, gradient)
  // As TensorFlow's FusedBatchNorm and FusedBatchNormGrad; then with an activation and an input to add.
  kBatchNorm,
  kBatchNormGrad,
  kFusedBatchNorm,
  // (image, filter), (sizes, filter, gradient), (image, sizes, gradient); with the attributes that read_conv() knows.
  kConv2D,
  kConv2DInputGrad,
  kConv2DFilterGrad,
  kFusedConv2D,  // kConv2D, then a bias and an activation
  // Of a variable.
  kAssignAdd,       // (reference, value)
  kAssignSubtract,  // (reference, value)
  // Of the step.
  kParameter,  // what is fed, or given to a function
};

}  // namespace argosy
