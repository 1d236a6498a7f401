// HostConv: a convolution on the host, from its node's attributes. HostConvCall: the checked operands of one run.
#pragma once

#include <optional>

#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/collective/reduction_chunks.h"
#include "argosy/ops/conv/conv_geometry.h"
#include "argosy/ops/matmul/fused_ops.h"
#include "argosy/ops/onednn/onednn.h"

namespace argosy {

struct HostConv {
  onednn::ConvKind kind = onednn::ConvKind::kForward;
  ConvAttrs attrs;
  FusedOps fused;
  bool winograd = false;
  ReductionChunks batch;

  static Result<HostConv> read(const KernelInit& init);
};

// The sizes, the operands in the order of ConvSpec's arguments, and the result, which is allocated.
struct HostConvCall {
  ConvGeometry g;
  const void* first = nullptr;   // image, or the output's gradient for the gradient of the image
  const void* second = nullptr;  // filter, or the output's gradient
  const void* bias = nullptr;
  Tensor* result = nullptr;

  static Result<HostConvCall> prepare(KernelContext& c, const HostConv& o);
  // The geometry from static shapes; nullopt if they are not all known, or do not fit.
  static std::optional<ConvGeometry> geometry(const KernelInit& init, const HostConv& o);
};

}  // namespace argosy
