// The ops whose CPU kernels read host inputs only, and touch others through the functions of strided_copy.h alone: of
// kind "moved" they run with the mover of their context (KernelContext::Fields::mover) in scope. In the program,
// whatever plug-in the mover comes from: a plug-in's own copy of the scope would be another one.
#pragma once

namespace argosy {

inline constexpr const char* kMovedOps[] = {"Transpose",
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
