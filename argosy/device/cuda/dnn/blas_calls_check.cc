// Compares our declarations of cuBLASLt with the vendor's header. Compiled into the plug-in where that header is
// installed.
#include <cublasLt.h>

#include <cstddef>

#include "argosy/device/cuda/dnn/blas_calls.h"
#include "argosy/device/cuda/driver/calls_check.h"

namespace argosy::cuda {

static_assert(kBlasDescTransA == CUBLASLT_MATMUL_DESC_TRANSA && kBlasDescTransB == CUBLASLT_MATMUL_DESC_TRANSB);
static_assert(kBlasDescEpilogue == CUBLASLT_MATMUL_DESC_EPILOGUE);
static_assert(kBlasDescBiasPointer == CUBLASLT_MATMUL_DESC_BIAS_POINTER);
static_assert(kBlasLayoutBatchCount == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
static_assert(kBlasLayoutBatchOffset == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
static_assert(kBlasPreferReductions == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
static_assert(kBlasReduceAsComputed == CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
static_assert(kBlasInvalidValue == CUBLAS_STATUS_INVALID_VALUE && kBlasArchMismatch == CUBLAS_STATUS_ARCH_MISMATCH);
static_assert(kBlasNotSupported == CUBLAS_STATUS_NOT_SUPPORTED && CUBLAS_STATUS_SUCCESS == 0);
static_assert(kBlasPreferWorkspace == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
static_assert(kBlasPreferAlignmentA == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
static_assert(kBlasPreferAlignmentA + 1 == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
static_assert(kBlasPreferAlignmentA + 2 == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
static_assert(kBlasPreferAlignmentA + 3 == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
static_assert(kBlasEpilogueRelu == CUBLASLT_EPILOGUE_RELU && kBlasEpilogueBias == CUBLASLT_EPILOGUE_BIAS);
static_assert((kBlasEpilogueRelu | kBlasEpilogueBias) == CUBLASLT_EPILOGUE_RELU_BIAS);
static_assert(kBlasOpTransposed == CUBLAS_OP_T);
static_assert(kBlasCompute32F == CUBLAS_COMPUTE_32F && kBlasCompute32FTf32 == CUBLAS_COMPUTE_32F_FAST_TF32);
static_assert(kBlasCompute64F == CUBLAS_COMPUTE_64F);
static_assert(kBlasR32F == CUDA_R_32F && kBlasR64F == CUDA_R_64F && kBlasR16F == CUDA_R_16F &&
              kBlasR16BF == CUDA_R_16BF);
static_assert(sizeof(BlasAlgorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(BlasChoice) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(BlasChoice, workspace_bytes) == offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(BlasChoice, status) == offsetof(cublasLtMatmulHeuristicResult_t, state));
static_assert(offsetof(BlasChoice, waves) == offsetof(cublasLtMatmulHeuristicResult_t, wavesCount));
static_assert(alignof(BlasAlgorithm) == alignof(cublasLtMatmulAlgo_t));

#define ARGOSY_ALIKE(member, function) \
  static_assert(kAlike<std::remove_reference_t<decltype(BlasCalls().member)>, decltype(function)>)
ARGOSY_ALIKE(version, cublasLtGetVersion);
ARGOSY_ALIKE(create, cublasLtCreate);
ARGOSY_ALIKE(destroy, cublasLtDestroy);
ARGOSY_ALIKE(desc_create, cublasLtMatmulDescCreate);
ARGOSY_ALIKE(desc_destroy, cublasLtMatmulDescDestroy);
ARGOSY_ALIKE(desc_set, cublasLtMatmulDescSetAttribute);
ARGOSY_ALIKE(layout_create, cublasLtMatrixLayoutCreate);
ARGOSY_ALIKE(layout_destroy, cublasLtMatrixLayoutDestroy);
ARGOSY_ALIKE(layout_set, cublasLtMatrixLayoutSetAttribute);
ARGOSY_ALIKE(preference_create, cublasLtMatmulPreferenceCreate);
ARGOSY_ALIKE(preference_destroy, cublasLtMatmulPreferenceDestroy);
ARGOSY_ALIKE(preference_set, cublasLtMatmulPreferenceSetAttribute);
ARGOSY_ALIKE(choose, cublasLtMatmulAlgoGetHeuristic);
ARGOSY_ALIKE(multiply, cublasLtMatmul);

}  // namespace argosy::cuda
