#include <array>
#include <atomic>
#include <cstring>

#include "argosy/base/threads/interrupt.h"
#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/conv/composed.h"
#include "argosy/ops/conv/conv_loops.h"
#include "argosy/ops/conv/host_conv.h"
#include "argosy/ops/conv/patches.h"
#include "argosy/ops/conv/winograd_products.h"

namespace argosy {

namespace {

using onednn::ConvKind;
using onednn::ConvSpec;
using Call = HostConvCall;
using Options = HostConv;

// Patches up to this many are multiplied as one matrix: the filter then outweighs the images, and oneDNN's convolutions
// would pack it on every call (512 channels, 3x3, on 4x4: 1.9 ms against 2.7-3.4 ms; on 2x2: 0.8 ms against 1.7 ms).
// In float32 where Winograd's products do not pay, as many as weigh no more than the filter: two cores, forward,
// image's and filter's gradient in ms, 16x8x8x128 to 256, 5x5 by 2: 1.1, 1.1, 1.3 against 1.7, 1.3, 1.5; 8x14x14x512 to
// 512, 3x3 by 2: 5.4, 5.5, 5.9 against 6.0, 6.4, 8.2; with four times as many and more most are slower.
constexpr std::int64_t kFewPatches = 128;
// Where tiles multiply them, the filter's gradient takes so many patches for each input channel: oneDNN sums small
// images slowly (16 images, one core, strides of 2: 8x8x256 3.8 ms against 0.4 ms, 16x16x128 3.0 ms against 1.0 ms;
// 32x32x64 1.7 ms against 1.9 ms).
constexpr std::int64_t kPatchesPerChannel = 8;
// Patches held at once where every convolution is a product (float64), and where a product is what adds up a filter's
// gradient chunk by chunk of the batch: all chunks' sums are made there block by block.
constexpr std::int64_t kPatchBytes = 8 << 20, kChunkPatchBytes = 32 << 20;
// Pieces of every chunk of a batch whose sums are oneDNN's: work for so many times as many threads, where a filter is
// small. A power of two.
constexpr int kPieces = 4;
int pieces_of(const ConvGeometry& g) { return g.filter_elements() <= (1 << 13) ? kPieces : 1; }

// Nothing to sum (or nothing to fill): zeros, before any bias.
bool is_empty(const ConvGeometry& g) {
  return g.in_elements() == 0 || g.out_elements() == 0 || g.filter_elements() == 0;
}

template <typename T>
void loops(const Options& o, const Call& call) {
  const ConvLoops loops(call.g, o.attrs.nchw);
  const auto* const first = static_cast<const T*>(call.first);
  const auto* const second = static_cast<const T*>(call.second);
  T* const result = call.result->data<T>();
  if (is_empty(call.g)) {
    std::fill_n(result, call.result->elements(), T(0));
  } else if (o.kind == ConvKind::kForward) {
    loops.forward(first, second, result);
  } else if (o.kind == ConvKind::kBackwardInput) {
    loops.backward_input(first, second, result);
  } else {
    loops.backward_filter(first, second, result);
  }
  using Wide = typename internal::Accumulator<T>::type;
  if constexpr (std::is_floating_point_v<Wide>) {
    const auto* const bias = static_cast<const T*>(call.bias);
    if (bias == nullptr && o.fused.activation == FusedOps::Activation::kNone) return;
    const std::int64_t inner = o.attrs.nchw ? call.g.h.out * call.g.w.out : 1;
    for (std::int64_t i = 0; i < call.result->elements(); ++i) {
      const Wide b = bias != nullptr ? static_cast<Wide>(bias[i / inner % call.g.out_c]) : Wide(0);
      result[i] = T(apply_activation(o.fused, static_cast<Wide>(result[i]) + b));
    }
  }
}

class PlainConv final : public Kernel {
 public:
  explicit PlainConv(Options options) : options_(std::move(options)) {}
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const Call call, Call::prepare(c, options_));
    using Types = TypeList<float, double, bfloat16, float16, std::int32_t>;
    return dispatch<Types>(call.result->dtype(), options_.attrs.op, [&]<typename T>() {
      loops<T>(options_, call);
      return ok_status();
    });
  }
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    ARGOSY_ASSIGN_OR_RETURN(Options options, Options::read(init));
    return std::unique_ptr<Kernel>(std::make_unique<PlainConv>(std::move(options)));
  }

 private:
  Options options_;
};

// The convolution as products of patches and filter, so many images at a time as fit the bytes.
template <typename T>
Status by_patches(KernelContext& c, MatMulPrograms& programs, const Options& o, const Call& call,
                  std::int64_t most_bytes = kPatchBytes) {
  const ConvGeometry& g = call.g;
  ConvGeometry part = g;
  const Patches whole{part};
  const std::int64_t per_image = g.h.out * g.w.out, columns = whole.columns();
  // Of the global batch, and of what is here.
  const std::int64_t all = o.batch.global(g.batch);
  const std::int64_t of_all =
      whole.trivial()
          ? all
          : std::clamp<std::int64_t>(most_bytes / static_cast<std::int64_t>(sizeof(T)) / (per_image * columns), 1, all);
  const std::int64_t at_once = std::min(of_all, g.batch);
  Buffer memory;
  if (!whole.trivial()) {
    ARGOSY_ASSIGN_OR_RETURN(memory, c.scratch(static_cast<std::size_t>(at_once * per_image * columns) * sizeof(T)));
  }
  T* const patches = reinterpret_cast<T*>(memory.data());
  const std::int64_t image_size = g.h.in * g.w.in * g.in_c;
  const auto* const first = static_cast<const T*>(call.first);
  const auto* const second = static_cast<const T*>(call.second);
  T* const result = call.result->data<T>();
  const FusedOps nothing;
  if (o.kind == ConvKind::kBackwardFilter && at_once < g.batch) {
    std::fill_n(result, call.result->elements(), T(0));
  }
  for (std::int64_t n = 0; n < g.batch; n += at_once) {
    part.batch = std::min(at_once, g.batch - n);
    const std::int64_t rows = whole.rows();
    if (o.kind == ConvKind::kBackwardInput) {
      T* const image = result + n * image_size;
      const Gemm product{.transpose_b = true, .m = rows, .n = columns, .k = g.out_c, .global_rows = of_all * per_image};
      const T* const dy = first + n * per_image * g.out_c;
      if (whole.trivial()) return gemm(c, programs, product, dy, second, nullptr, nothing, image);
      ARGOSY_RETURN_IF_ERROR(gemm(c, programs, product, dy, second, nullptr, nothing, patches));
      whole.scatter_add(patches, image);
      continue;
    }
    const T* a = first + n * image_size;
    if (!whole.trivial()) {
      whole.gather(a, patches);
      a = patches;
    }
    if (o.kind == ConvKind::kForward) {
      const Gemm product{.m = rows, .n = g.out_c, .k = columns, .global_rows = of_all * per_image};
      ARGOSY_RETURN_IF_ERROR(gemm(c, programs, product, a, second, static_cast<const T*>(call.bias), o.fused,
                                  result + n * per_image * g.out_c));
      continue;
    }
    const Gemm product{true, false, columns, g.out_c, rows, o.batch, per_image};
    const T* const dy = second + n * per_image * g.out_c;
    if (at_once >= g.batch) return gemm(c, programs, product, a, dy, nullptr, nothing, result);
    ARGOSY_ASSIGN_OR_RETURN(const Buffer sum, c.scratch(call.result->bytes()));
    T* const share = reinterpret_cast<T*>(sum.data());
    ARGOSY_RETURN_IF_ERROR(gemm(c, programs, product, a, dy, nullptr, nothing, share));
    parallel_for(call.result->elements(), 1 << 15, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) result[i] += share[i];
    });
  }
  return ok_status();
}

ConvSpec spec_of(const Options& o, const Call& call, DType dtype) {
  const ConvGeometry& g = call.g;
  ConvSpec s{.kind = o.kind, .dtype = dtype};
  s.activation = static_cast<onednn::Activation>(o.fused.activation);
  s.alpha = o.fused.alpha;
  s.nchw = o.attrs.nchw;
  s.bias = call.bias != nullptr;
  s.blocked_images = o.attrs.nchw;
  // Into a few channels the packed kernels run at a tenth of their speed (28x28x1 from 32: 14.7 ms against 8.1 ms).
  s.plain_filter = o.kind == ConvKind::kBackwardInput && g.groups == 1 && g.in_c < 16 && g.out_c > 1 && !o.attrs.nchw;
  s.batch = g.batch;
  s.in_h = g.h.in, s.in_w = g.w.in, s.in_c = g.in_c;
  s.out_h = g.h.out, s.out_w = g.w.out, s.out_c = g.out_c;
  s.groups = g.groups;
  s.filter_h = g.h.window, s.filter_w = g.w.window;
  s.stride_h = g.h.stride, s.stride_w = g.w.stride;
  s.dilation_h = g.h.dilation, s.dilation_w = g.w.dilation;
  s.pad_top = g.h.pad_before, s.pad_bottom = g.h.pad_after;
  s.pad_left = g.w.pad_before, s.pad_right = g.w.pad_after;
  return s;
}

using SharedConvolutions = onednn::SharedPrograms<ConvSpec>;

// The filter's gradient as sums of chunks of the batch, by oneDNN.
class ChunkedFilterGradient {
 public:
  using Programs = onednn::ProgramCache<ConvSpec>;
  // Both outlive it.
  ChunkedFilterGradient(const Options& options, Programs& programs) : options_(options), programs_(programs) {}

  // Sums of chunks are held beside each other: they may not weigh much more than the images. oneDNN's sums depend on
  // the number of threads that share one, so every piece of a chunk is one thread's. A device that takes turns decides as
  // if it had one: its threads may outnumber the pieces of a turn.
  bool pays(const ConvGeometry& global) const {
    const std::int64_t each = pieces_of(global);
    return kReductionChunks * each * global.filter_elements() <= global.in_elements() + global.out_elements() &&
           thread_budget() <= options_.batch.of_device() * each;
  }

  // The filter's gradient of every piece, then their sum.
  Status run(KernelContext& c, const Call& call) {
    ARGOSY_ASSIGN_OR_RETURN(const std::vector<Piece> pieces, cut(call));
    std::size_t each = 0;
    for (const Piece& p : pieces) each = std::max(each, p.program != nullptr ? p.program->scratch_bytes() : 0);
    each = (each + 63) / 64 * 64;
    const std::int64_t filter = call.g.filter_elements(), count = static_cast<std::int64_t>(pieces.size());
    ARGOSY_ASSIGN_OR_RETURN(const Buffer scratch, c.scratch(each * static_cast<std::size_t>(thread_budget())));
    ARGOSY_ASSIGN_OR_RETURN(const Buffer memory, c.scratch(static_cast<std::size_t>(count * filter) * sizeof(float)));
    auto* const sums = reinterpret_cast<float*>(memory.data());
    const auto* const images = static_cast<const float*>(call.first);
    const auto* const dy = static_cast<const float*>(call.second);
    const std::int64_t in = call.g.in_elements() / call.g.batch, out = call.g.out_elements() / call.g.batch;
    std::vector<Status> done(pieces.size());
    std::atomic<std::size_t> threads{0};
    parallel_for_whole(count, 1, [&](std::int64_t begin, std::int64_t end) {
      const ThreadLimit one(1);
      std::byte* const mine = scratch.data() + each * threads.fetch_add(1);
      for (std::int64_t i = begin; i < end; ++i) {
        check_interrupted();
        const Piece& p = pieces[static_cast<std::size_t>(i)];
        if (p.program == nullptr) {
          std::fill_n(sums + i * filter, filter, 0.0f);
          continue;
        }
        void* const data[] = {const_cast<float*>(images + p.first * in), const_cast<float*>(dy + p.first * out),
                              sums + i * filter};
        done[static_cast<std::size_t>(i)] = p.program->run(data, mine);
      }
    });
    for (Status& status : done) ARGOSY_RETURN_IF_ERROR(std::move(status));
    add_chunks_as_tree(sums, static_cast<int>(count), filter);
    std::copy_n(sums, filter, call.result->data<float>());
    return ok_status();
  }

 private:
  // The filter's gradient of some images, by one thread.
  struct Piece {
    onednn::Program* program = nullptr;  // null: there are no images
    std::shared_ptr<onednn::Program> own;
    std::int64_t first = 0;  // image
  };

  Result<std::vector<Piece>> cut(const Call& call) {
    const ThreadLimit one(1);
    const int parts = options_.batch.count;
    const int each = pieces_of(call.g);
    const ChunkEnds ends = chunk_ends(call.g.batch, parts);
    std::vector<Piece> pieces(static_cast<std::size_t>(parts * each));
    Call some = call;
    std::int64_t first = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const int part = static_cast<int>(i) / each, piece = static_cast<int>(i) % each;
      const std::int64_t begin = part > 0 ? ends[part - 1] : 0;
      const std::int64_t end = begin + chunk_ends(ends[part] - begin, each)[piece];
      some.g.batch = end - first;
      pieces[i].first = first;
      if (end > first) {
        ARGOSY_ASSIGN_OR_RETURN(pieces[i].program,
                                programs_.get(spec_of(options_, some, DType::kFloat32), pieces[i].own));
      }
      first = end;
    }
    return pieces;
  }

  const Options& options_;
  Programs& programs_;
};

template <typename T>
class FastConv final : public Kernel {
 public:
  FastConv(Options options, SharedConvolutions shared, SharedProducts products)
      : options_(std::move(options)),
        programs_(onednn::make_convolution, std::move(shared)),
        products_(onednn::make_matmul, std::move(products)) {}
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const Call call, Call::prepare(c, options_));
    if (is_empty(call.g)) {
      loops<T>(options_, call);
      return ok_status();
    }
    const bool as_product = call.g.groups == 1 && !options_.attrs.nchw;
    if constexpr (std::is_same_v<T, double>) {
      if (as_product) return by_patches<T>(c, products_, options_, call);
      loops<T>(options_, call);
      return ok_status();
    } else {
      ConvGeometry global = call.g;  // the same choice for every shard of a batch
      global.batch = options_.batch.global(global.batch);
      const Patches patches{global};
      const bool winograd = options_.winograd && winograd_pays(options_.attrs, global);
      if (as_product && few_patches(patches, winograd)) return by_patches<T>(c, products_, options_, call);
      const bool sums =
          options_.kind == ConvKind::kBackwardFilter && options_.batch.sums(call.g.batch) && std::is_same_v<T, float>;
      ChunkedFilterGradient chunks(options_, programs_);
      const bool parts = sums && (winograd || chunks.pays(global));
      if (as_product && sums && !parts &&
          patches.rows() * patches.columns() * static_cast<std::int64_t>(sizeof(T)) <= kChunkPatchBytes) {
        return by_patches<T>(c, products_, options_, call, kChunkPatchBytes);
      }
      if (winograd && std::is_same_v<T, float>) {
        return run_winograd(c, call, static_cast<const float*>(call.first), static_cast<const float*>(call.second),
                            static_cast<const float*>(call.bias), static_cast<float*>(call.result->raw()), parts);
      }
      if (parts) {
        const Status done = chunks.run(c, call);
        if (done.code() != Code::kUnimplemented) return done;
      }
      if (winograd) return by_float(c, call, true);
      if (onednn::supports(dtype_of<T>())) {
        const Status done = run_program(c, call, dtype_of<T>(), call.first, call.second, call.bias, call.result->raw());
        if (done.code() != Code::kUnimplemented) return done;
      } else {
        const Status done = by_float(c, call, false);
        if (done.code() != Code::kUnimplemented) return done;
      }
      loops<T>(options_, call);
      return ok_status();
    }
  }

 private:
  // Whether one product of all patches is the fastest way.
  bool few_patches(const Patches& patches, bool winograd) const {
    const std::int64_t rows = patches.rows();
    if (rows <= kFewPatches) return true;
    const bool fits =
        patches.trivial() || rows * patches.columns() * static_cast<std::int64_t>(sizeof(T)) <= kPatchBytes;
    if (!fits) return false;
    if (std::is_same_v<T, float> && !winograd && rows <= patches.g.out_c) return true;
    return onednn::has_tiles(dtype_of<T>()) && options_.kind == ConvKind::kBackwardFilter &&
           rows <= kPatchesPerChannel * patches.g.in_c;
  }

  Status run_program(KernelContext& c, const Call& call, DType dtype, const void* first, const void* second,
                     const void* bias, void* result) {
    std::shared_ptr<onednn::Program> own;
    ARGOSY_ASSIGN_OR_RETURN(onednn::Program* const program, programs_.get(spec_of(options_, call, dtype), own));
    Buffer scratch;
    if (program->scratch_bytes() > 0) {
      ARGOSY_ASSIGN_OR_RETURN(scratch, c.scratch(program->scratch_bytes()));
    }
    void* const with_bias[] = {const_cast<void*>(first), const_cast<void*>(second), const_cast<void*>(bias), result};
    void* const without[] = {const_cast<void*>(first), const_cast<void*>(second), result};
    return bias != nullptr ? program->run(with_bias, scratch.data()) : program->run(without, scratch.data());
  }

  Status run_winograd(KernelContext& c, const Call& call, const float* first, const float* second, const float* bias,
                      float* result, bool parts = false) {
    const int count = parts ? options_.batch.count : 0;
    const ChunkEnds all = chunk_ends(call.g.batch, count);
    const std::span<const std::int64_t> ends = std::span(all).first(static_cast<std::size_t>(count));
    ARGOSY_ASSIGN_OR_RETURN(const Buffer memory, c.scratch(parts ? winograd_chunks_bytes(call.g, count, thread_budget())
                                                                 : winograd_scratch_bytes(call.g, thread_budget())));
    auto* const scratch = reinterpret_cast<float*>(memory.data());
    switch (options_.kind) {
      case ConvKind::kForward: winograd_forward(call.g, first, second, bias, options_.fused, result, scratch); break;
      case ConvKind::kBackwardInput: winograd_backward_input(call.g, first, second, result, scratch); break;
      case ConvKind::kBackwardFilter: winograd_backward_filter(call.g, first, second, ends, result, scratch); break;
    }
    return ok_status();
  }

  // float16, and bfloat16 on machines that cannot multiply it, or where Winograd's products are faster.
  Status by_float(KernelContext& c, const Call& call, bool winograd) {
    const ConvGeometry& g = call.g;
    const std::int64_t in = g.in_elements(), out = g.out_elements(), filter = g.filter_elements();
    const bool forward = options_.kind == ConvKind::kForward, to_filter = options_.kind == ConvKind::kBackwardFilter;
    const std::int64_t first = forward || to_filter ? in : out, second = to_filter ? out : filter;
    const std::int64_t bias = call.bias != nullptr ? g.out_c : 0, result = call.result->elements();
    ARGOSY_ASSIGN_OR_RETURN(const Buffer memory,
                            c.scratch(static_cast<std::size_t>(first + second + bias + result) * sizeof(float)));
    auto* const a = reinterpret_cast<float*>(memory.data());
    float *const b = a + first, *const wide_bias = b + second, *const to = wide_bias + bias;
    widen(call.first, a, first);
    widen(call.second, b, second);
    widen(call.bias, wide_bias, bias);
    const float* const with = bias > 0 ? wide_bias : nullptr;
    ARGOSY_RETURN_IF_ERROR(winograd ? run_winograd(c, call, a, b, with, to)
                                    : run_program(c, call, DType::kFloat32, a, b, with, to));
    T* const narrow = call.result->template raw_as<T>();
    parallel_for(result, 1 << 15, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) narrow[i] = T(to[i]);
    });
    return ok_status();
  }
  static void widen(const void* from, float* to, std::int64_t count) {
    const auto* const x = static_cast<const T*>(from);
    parallel_for(count, 1 << 15, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) to[i] = static_cast<float>(x[i]);
    });
  }

  Options options_;
  onednn::ProgramCache<ConvSpec> programs_;
  MatMulPrograms products_;
};

Result<std::unique_ptr<Kernel>> make_fast(const KernelInit& init) {
  ARGOSY_ASSIGN_OR_RETURN(Options options, Options::read(init));
  ARGOSY_ASSIGN_OR_RETURN(SharedConvolutions shared, SharedConvolutions::of(init, "convolutions"));
  ARGOSY_ASSIGN_OR_RETURN(SharedProducts products, shared_products(init));
  std::unique_ptr<Kernel> kernel;
  ARGOSY_RETURN_IF_ERROR(dispatch<FloatTypes>(init.output_dtypes[0], "fast convolution", [&]<typename T>() {
    kernel = std::make_unique<FastConv<T>>(std::move(options), std::move(shared), std::move(products));
    return ok_status();
  }));
  return kernel;
}

}  // namespace

void add_kernels_cpu_conv(KernelRegistry& kernels) {
  add_kernels_cpu_composed_convolutions(kernels);
  for (const char* op :
       {"Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter", "_FusedConv2D", "DepthwiseConv2dNative",
        "DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2dNativeBackpropFilter"}) {
    kernels.add(op, "cpu", make_fast);
    kernels.add(op, "cpu", PlainConv::make);
  }
}

}  // namespace argosy
