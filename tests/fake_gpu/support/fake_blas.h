// A fake cuBLASLt: plain loops over column-major matrices. It is as strict as the documentation and the header. It
// refuses, or fails the test for, arguments that those forbid or that users found to crash its kernels.
#pragma once

#include <vector>

#include "argosy/ops/matmul/gpu_blas.h"

namespace argosy::cuda {

struct BlasDescObject {
  int compute = 0, scale = 0, transpose_a = 0, transpose_b = 0;
  std::uint32_t epilogue = 1;
  const void* bias = nullptr;
};
struct BlasLayoutObject {
  int type = 0;
  std::uint64_t rows = 0, columns = 0;
  std::int64_t leading = 0, offset = 0;
  std::int32_t batches = 1;
};
struct BlasPreferenceObject {
  std::uint64_t workspace = 0;
  std::uint32_t alignments[4] = {256, 256, 256, 256};
  std::uint32_t reductions = 7;
};

}  // namespace argosy::cuda

namespace argosy::cuda::fake {

struct FakeBlas {
  std::size_t version = 130100;
  int create_answer = 0;
  std::size_t workspace = 64;      // of every algorithm
  std::uint64_t unknown_rows = 0;  // products with this many rows (of column-major d) have no algorithm
  int start_answer = 0;            // the status of a product instead of 0

  int products = 0, choices = 0, live_objects = 0;
  std::vector<BlasDescObject> asked = {};         // of the products started, in their order
  std::vector<BlasPreferenceObject> wanted = {};  // of the choices
  std::vector<int> batches = {};                  // of the products started

  // The table; one fake at a time. On a null stream products run at once.
  BlasCalls calls();
  std::shared_ptr<GpuBlas> opened() { return GpuBlas::over(calls()).value(); }
};

}  // namespace argosy::cuda::fake
