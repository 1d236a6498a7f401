// The part of cuBLASLt that we use: its functions, with our own names for its constants and opaque handles. So the
// build needs no vendor header. blas_calls_check.cc compares the constants with that header where it is installed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace argosy::cuda {

struct BlasHandleObject;
struct BlasDescObject;
struct BlasLayoutObject;
struct BlasPreferenceObject;
using BlasHandle = BlasHandleObject*;
using BlasDesc = BlasDescObject*;
using BlasLayout = BlasLayoutObject*;
using BlasPreference = BlasPreferenceObject*;

inline constexpr int kBlasDescTransA = 3;
inline constexpr int kBlasDescTransB = 4;
inline constexpr int kBlasDescEpilogue = 7;
inline constexpr int kBlasDescBiasPointer = 8;
inline constexpr int kBlasLayoutBatchCount = 5;
inline constexpr int kBlasLayoutBatchOffset = 6;
inline constexpr int kBlasPreferWorkspace = 1;
inline constexpr int kBlasPreferReductions = 3;
inline constexpr int kBlasPreferAlignmentA = 5;  // then B, C, D
inline constexpr int kBlasReduceAsComputed = 2;  // of parts of a sum: kept and added up in the compute type
inline constexpr int kBlasEpilogueRelu = 2;
inline constexpr int kBlasEpilogueBias = 4;
inline constexpr int kBlasOpTransposed = 1;
inline constexpr int kBlasCompute32F = 68;
inline constexpr int kBlasCompute32FTf32 = 77;
inline constexpr int kBlasCompute64F = 70;
inline constexpr int kBlasR32F = 0;
inline constexpr int kBlasR64F = 1;
inline constexpr int kBlasR16F = 2;
inline constexpr int kBlasR16BF = 14;
// Statuses of a call that started nothing.
inline constexpr int kBlasInvalidValue = 7;
inline constexpr int kBlasArchMismatch = 8;
inline constexpr int kBlasNotSupported = 15;

struct BlasAlgorithm {
  std::uint64_t data[8];
};
struct BlasChoice {
  BlasAlgorithm algorithm;
  std::size_t workspace_bytes;
  int status;
  float waves;
  int reserved[4];
};

// All return 0 when they succeed.
struct BlasCalls {
  std::size_t (*version)() = nullptr;
  int (*create)(BlasHandle*) = nullptr;
  int (*destroy)(BlasHandle) = nullptr;
  int (*desc_create)(BlasDesc*, int compute, int scale) = nullptr;
  int (*desc_destroy)(BlasDesc) = nullptr;
  int (*desc_set)(BlasDesc, int attribute, const void* value, std::size_t bytes) = nullptr;
  int (*layout_create)(BlasLayout*, int type, std::uint64_t rows, std::uint64_t columns,
                       std::int64_t leading) = nullptr;
  int (*layout_destroy)(BlasLayout) = nullptr;
  int (*layout_set)(BlasLayout, int attribute, const void* value, std::size_t bytes) = nullptr;
  int (*preference_create)(BlasPreference*) = nullptr;
  int (*preference_destroy)(BlasPreference) = nullptr;
  int (*preference_set)(BlasPreference, int attribute, const void* value, std::size_t bytes) = nullptr;
  int (*choose)(BlasHandle, BlasDesc, BlasLayout a, BlasLayout b, BlasLayout c, BlasLayout d, BlasPreference, int most,
                BlasChoice* found, int* count) = nullptr;
  int (*multiply)(BlasHandle, BlasDesc, const void* alpha, const void* a, BlasLayout, const void* b, BlasLayout,
                  const void* beta, const void* c, BlasLayout, void* d, BlasLayout, const BlasAlgorithm*,
                  void* workspace, std::size_t workspace_bytes, void* stream) = nullptr;
};

}  // namespace argosy::cuda
