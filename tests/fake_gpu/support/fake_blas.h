// cuBLASLt's calls answered by plain loops over column-major matrices, as strict as its documentation and header: what
// those do not allow, or what users have found its kernels not to bear, it refuses or is a test's failure.
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
  std::size_t workspace = 64;      // what every way needs
  std::uint64_t unknown_rows = 0;  // products of so many rows (of column-major d) have no way
  int start_answer = 0;            // what a product is answered with instead

  int products = 0, choices = 0, live_objects = 0;
  std::vector<BlasDescObject> asked = {};         // of the products started, in their order
  std::vector<BlasPreferenceObject> wanted = {};  // of the choices
  std::vector<int> batches = {};                  // of the products started

  // The table; one fake at a time. On a stream that is null products are made at once.
  BlasCalls calls();
  std::shared_ptr<GpuBlas> opened() { return GpuBlas::over(calls()).value(); }
};

}  // namespace argosy::cuda::fake
