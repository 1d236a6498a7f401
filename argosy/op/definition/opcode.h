// Opcode: what an op computes, for rewrites that look for a pattern of ops (OpSpec::opcode), as XLA's HloOpcode.
//
//   Mul(Sub(dy, Sum(Mul(dy, y))), y)  ->  _SoftmaxGrad(y, dy)        argosy/passes/fuse/fuse_softmax_gradient.h
//
// Ops that compute the same share an opcode: Add and AddV2, the versions of FusedBatchNorm. An op has an opcode only if
// a rewrite looks for it; all others are kNone. A new op may take an opcode if it has the inputs, outputs and
// attributes stated here, and computes the same function. Rewrites may then replace it by another op.
#pragma once

namespace argosy {

enum class Opcode : char {
  kNone,
  // Elementwise: one input, or two inputs that are broadcast.
  kAdd,
  kSubtract,
  kMultiply,
  kExp,
  kRelu,
  kReluGrad,  // (gradient, features): the gradient where features > 0
  kIdentity,
  kSnapshot,  // its input, as it is then: later updates of the variable do not change it
  // Reductions over axes and windows, and ops along an axis.
  kSum,          // (x, axes), attribute "keep_dims"
  kBiasAdd,      // (x, bias), attribute "data_format"
  kSoftmax,      // along the last axis
  kLogSoftmax,   // along the last axis
  kMaxPool,      // (image)
  kMaxPoolGrad,  // (image, pooled, gradient)
  // TensorFlow's FusedBatchNorm and FusedBatchNormGrad; _FusedBatchNormEx, with a side input and an activation.
  kBatchNorm,
  kBatchNormGrad,
  kFusedBatchNorm,
  // (image, filter), (sizes, filter, gradient), (image, sizes, gradient); with the attributes that read_conv() knows.
  kConv2D,
  kConv2DInputGrad,
  kConv2DFilterGrad,
  kFusedConv2D,  // kConv2D, then a bias and an activation
  // Updates of a variable.
  kAssignAdd,       // (reference, value)
  kAssignSubtract,  // (reference, value)
  // Boundaries of a step or function.
  kParameter,  // a fed value, or a function's argument
};

}  // namespace argosy
