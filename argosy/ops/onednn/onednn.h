// The wrapper of oneDNN (2.6 and 3.x): all uses of its primitives for products and convolutions go through it.
//
// A Program is a primitive with its memory objects and the reorders around it. It is made for one set of shapes and one
// team size (the maker's thread_budget()). Making one takes up to a millisecond, so programs are cached
// (argosy/ops/onednn/program_cache.h). oneDNN's exceptions become a Status. UNIMPLEMENTED: oneDNN has no
// implementation, and the kernel falls back to its reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "argosy/base/status.h"
#include "argosy/tensor/dtype.h"

namespace argosy::onednn {

// True if this machine's oneDNN has products and convolutions of this dtype. bfloat16 needs AVX-512; float16 is never
// supported. Convolutions and large products of bfloat16 compute in float32 where that is faster, as measured when the
// first program is made; operands are then converted as they are packed.
bool supports(DType dtype);

// True if this machine has matrix-tile instructions for this dtype (AMX for bfloat16): four to eight times as fast as
// float32 vectors. It is a property of the CPU, not a measurement, and so the same in every process.
bool has_tiles(DType dtype);

// Thread-safe: run() may be called by many threads at once.
class Program {
 public:
  virtual ~Program() = default;
  // The bytes of scratch memory that run() needs, 64-byte aligned.
  virtual std::size_t scratch_bytes() const = 0;
  // `data`: one pointer per argument, in the order the maker below states. REQUIRES: the thread budget it was made for.
  virtual Status run(std::span<void* const> data, void* scratch) = 0;
};

// The activation that is fused into a product or convolution.
enum class Activation : std::uint8_t { kNone, kRelu, kRelu6, kElu, kLeakyRelu, kSigmoid, kTanh };

// product[batch, m, n] = activation(a[batch, m, k] · b[batch, k, n] + bias[n]); a transposed operand lies in memory as
// [k, m] or [n, k]. Arguments: a, b, (bias,) product. REQUIRES: every size > 0.
struct MatMulSpec {
  DType dtype = DType::kFloat32;
  Activation activation = Activation::kNone;
  bool transpose_a = false, transpose_b = false, bias = false;
  bool one_b = false;  // b has no batch axis: every product uses the same matrix
  float alpha = 0;     // slope of kLeakyRelu below 0
  int threads = 0;     // set by ProgramCache
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  bool operator==(const MatMulSpec&) const = default;
  std::size_t hash() const;
};
// UNIMPLEMENTED: oneDNN does not support the spec, or a size is more than 31 bits.
Result<std::unique_ptr<Program>> make_matmul(const MatMulSpec& spec);

// c[m, n] = a · b (+ c if `add`) in float32, without a Program. It is faster for long sums, where a Program's packing
// of b does not pay. REQUIRES: every size > 0.
Status sgemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, const float* a,
             const float* b, bool add, float* c);

enum class ConvKind : std::uint8_t { kForward, kBackwardInput, kBackwardFilter };

// One of the three products of a 2-D convolution. Images are NHWC (or NCHW), filters [h, w, in_c / groups, out_c]; a
// depthwise filter [h, w, in_c, multiplier] is the same memory with groups = in_c. Arguments:
//   kForward         input, filter, (bias,) output
//   kBackwardInput   output's gradient, filter, input's gradient
//   kBackwardFilter  input, output's gradient, filter's gradient
// REQUIRES: every size > 0, paddings >= 0.
struct ConvSpec {
  ConvKind kind = ConvKind::kForward;
  DType dtype = DType::kFloat32;
  Activation activation = Activation::kNone;
  bool nchw = false, bias = false;
  bool plain_filter = false;    // use the filter's own layout instead of packing it first
  bool blocked_images = false;  // reorder the images, too, into the layout that oneDNN prefers
  float alpha = 0;
  int threads = 0;  // set by ProgramCache
  std::int64_t batch = 0, in_h = 0, in_w = 0, in_c = 0, out_h = 0, out_w = 0, out_c = 0, groups = 1;
  std::int64_t filter_h = 0, filter_w = 0, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  std::int64_t pad_top = 0, pad_bottom = 0, pad_left = 0, pad_right = 0;
  bool operator==(const ConvSpec&) const = default;
  std::size_t hash() const;
};
// UNIMPLEMENTED: as for products. Also if an image has 2^31 pixels, images have more than 2^36 elements, or a window has
// more than 2^24 cells.
Result<std::unique_ptr<Program>> make_convolution(const ConvSpec& spec);

}  // namespace argosy::onednn
