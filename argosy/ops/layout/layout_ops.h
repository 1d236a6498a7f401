// Ops whose CPU kernels read only host inputs, and access other memory only through the functions of strided_copy.h.
// Kernels of kind "layout" run them on other devices, with the copy engine of their context
// (KernelContext::Fields::copy_engine) in scope. The scope belongs to the program, whichever plug-in the engine is
// from: a plug-in's copy of strided_copy.cc would have a scope of its own.
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
