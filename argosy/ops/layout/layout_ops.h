// Ops whose CPU kernels read host inputs only, and touch others through the functions of strided_copy.h alone. Kernels
// of kind "layout" run them with the copy engine of their context (KernelContext::Fields::copy_engine) in scope. The
// scope is the program's, whichever plug-in the engine comes from: a plug-in's own copy of it would be another one.
#pragma once

namespace argosy {

inline constexpr const char* kLayoutOps[] = {"Transpose",
                                             "Concat",
                                             "ConcatV2",
                                             "Split",
                                             "SplitV",
                                             "Pack",
                                             "Unpack",
                                             "Slice",
                                             "StridedSlice",
                                             "StridedSliceGrad",
                                             "Pad",
                                             "PadV2",
                                             "MirrorPad",
                                             "Tile",
                                             "ReverseV2",
                                             "Roll",
                                             "SpaceToDepth",
                                             "DepthToSpace",
                                             "SpaceToBatch",
                                             "SpaceToBatchND",
                                             "BatchToSpace",
                                             "BatchToSpaceND",
                                             "MatrixDiag",
                                             "MatrixDiagPart",
                                             "MatrixSetDiag",
                                             "Diag",
                                             "DiagPart",
                                             "MatrixDiagV2",
                                             "MatrixDiagV3",
                                             "MatrixDiagPartV2",
                                             "MatrixDiagPartV3",
                                             "MatrixSetDiagV2",
                                             "MatrixSetDiagV3",
                                             "Reverse",
                                             "ParallelConcat",
                                             "DeepCopy",
                                             "TensorStridedSliceUpdate",
                                             "StridedSliceAssign",
                                             "ResourceStridedSliceAssign"};

}  // namespace argosy
