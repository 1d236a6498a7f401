// The layout family on a card: its CPU kernels decide what goes where, a mover carries it out.
#include "argosy/ops/layout/card_mover.h"

namespace argosy {

void add_kernels_cuda_layout(KernelRegistry& kernels) {
  for (const char* op : {"Transpose",    "Concat",         "ConcatV2",     "Split",          "SplitV",
                         "Pack",         "Unpack",         "Slice",        "StridedSlice",   "StridedSliceGrad",
                         "Pad",          "PadV2",          "MirrorPad",    "Tile",           "ReverseV2",
                         "Roll",         "SpaceToDepth",   "DepthToSpace", "SpaceToBatch",   "SpaceToBatchND",
                         "BatchToSpace", "BatchToSpaceND", "MatrixDiag",   "MatrixDiagPart", "MatrixSetDiag",
                         "Diag",         "DiagPart"}) {
    kernels.add(op, "cuda", cuda::make_moving, {{"T", cuda::kCardTypes}});
    kernels.add(op, "cuda", cuda::make_on_host, {{"T", {DType::kInt32}}});
  }
  kernels.add("ConcatOffset", "cuda", cuda::make_on_host);
  kernels.add("InvertPermutation", "cuda", cuda::make_on_host);
}

}  // namespace argosy
