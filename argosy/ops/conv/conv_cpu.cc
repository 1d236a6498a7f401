#include <array>
#include <cstring>

#include "argosy/op/kernel/workspace.h"
#include "argosy/ops/conv/chunked_filter_gradient.h"
#include "argosy/ops/conv/composed.h"
#include "argosy/ops/conv/conv_loops.h"
#include "argosy/ops/conv/host_conv.h"
#include "argosy/ops/conv/patch_products.h"
#include "argosy/ops/conv/winograd/winograd_products.h"

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

// True if there is nothing to sum, or no output: the result is zeros, before any bias.
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

using SharedConvolutions = onednn::SharedPrograms<ConvSpec>;

template <typename T>
class FastConv final : public Kernel, public Workspace {
 public:
  FastConv(Options options, SharedConvolutions shared, SharedProducts products)
      : options_(std::move(options)),
        programs_(onednn::make_convolution, std::move(shared)),
        products_(onednn::make_matmul, std::move(products)) {}
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const Call call, Call::prepare(c, options_));
    const Choice choice = choose(call.g);
    switch (choice.algorithm) {
      case Algorithm::kLoops: break;
      case Algorithm::kPatches: return by_patches<T>(c, products_, patches(call.g, choice), call);
      case Algorithm::kWinograd:
        return run_winograd(c, call, static_cast<const float*>(call.first), static_cast<const float*>(call.second),
                            static_cast<const float*>(call.bias), static_cast<float*>(call.result->raw()),
                            choice.parts);
      case Algorithm::kChunks: {
        const Status done = ChunkedFilterGradient(options_, programs_).run(c, call);
        if (done.code() != Code::kUnimplemented) return done;
        [[fallthrough]];
      }
      case Algorithm::kProgram: {
        const Status done = run_program(c, call, dtype_of<T>(), call.first, call.second, call.bias, call.result->raw());
        if (done.code() != Code::kUnimplemented) return done;
        break;
      }
      case Algorithm::kFloats:
      case Algorithm::kWinogradOfFloats: {
        const Status done = by_float(c, call, choice.algorithm == Algorithm::kWinogradOfFloats);
        if (done.code() != Code::kUnimplemented) return done;
        break;
      }
    }
    loops<T>(options_, call);
    return ok_status();
  }
  std::optional<std::uint64_t> workspace_bytes(const KernelInit& init) override {
    const auto g = Call::geometry(init, options_);
    if (!g) return std::nullopt;
    const Choice choice = choose(*g);
    switch (choice.algorithm) {
      case Algorithm::kLoops: return 0;
      case Algorithm::kPatches: return patches(*g, choice).scratch_bytes(products_, dtype_of<T>());
      case Algorithm::kWinograd: return winograd_bytes(*g, choice.parts);
      case Algorithm::kChunks: {
        const auto bytes = ChunkedFilterGradient(options_, programs_).scratch_bytes(*g);
        if (bytes.ok()) return *bytes;
        break;
      }
      case Algorithm::kProgram: break;
      case Algorithm::kFloats: return wide_bytes(*g) + program_bytes(*g, DType::kFloat32);
      case Algorithm::kWinogradOfFloats: return wide_bytes(*g) + winograd_bytes(*g, false);
    }
    return program_bytes(*g, dtype_of<T>());
  }

 private:
  enum class Algorithm : std::uint8_t {
    kLoops,             // the plain reference; what others end in where oneDNN has nothing
    kPatches,           // products of patches
    kWinograd,          // Winograd's products
    kChunks,            // the filter's gradient, chunk by chunk of the batch
    kProgram,           // oneDNN's primitive
    kFloats,            // the same in float32
    kWinogradOfFloats,  // Winograd's products in float32
  };
  struct Choice {
    Algorithm algorithm = Algorithm::kLoops;
    std::int64_t most_bytes = kPatchBytes;  // of patches
    bool parts = false;                     // Winograd's sums are those of chunks
  };

  Choice choose(const ConvGeometry& g) const {
    if (is_empty(g)) return {};
    const bool as_product = g.groups == 1 && !options_.attrs.nchw;
    if (std::is_same_v<T, double>) return {as_product ? Algorithm::kPatches : Algorithm::kLoops};
    ConvGeometry global = g;  // the same choice for every shard of a batch
    global.batch = options_.batch.global(global.batch);
    const Patches whole{global};
    const bool winograd = options_.winograd && winograd_pays(options_.attrs, global);
    if (as_product && few_patches(whole, winograd)) return {Algorithm::kPatches};
    const bool narrow = !std::is_same_v<T, float>;
    const bool sums = options_.kind == ConvKind::kBackwardFilter && options_.batch.sums(g.batch) && !narrow;
    const bool parts = sums && (winograd || ChunkedFilterGradient::pays(options_, global));
    if (as_product && sums && !parts &&
        whole.rows() * whole.columns() * static_cast<std::int64_t>(sizeof(T)) <= kChunkPatchBytes) {
      return {Algorithm::kPatches, kChunkPatchBytes};
    }
    if (winograd) return {narrow ? Algorithm::kWinogradOfFloats : Algorithm::kWinograd, kPatchBytes, parts};
    if (parts) return {Algorithm::kChunks};
    return {onednn::supports(dtype_of<T>()) ? Algorithm::kProgram : Algorithm::kFloats};
  }

  PatchProducts patches(const ConvGeometry& g, const Choice& choice) const {
    return {options_, g, static_cast<std::int64_t>(sizeof(T)), choice.most_bytes};
  }

  std::uint64_t program_bytes(const ConvGeometry& g, DType dtype) {
    std::shared_ptr<onednn::Program> own;
    const auto program = programs_.get(conv_spec_of(options_, g, dtype), own);
    return program.ok() ? (*program)->scratch_bytes() : 0;  // what cannot be made is not run
  }

  std::size_t winograd_bytes(const ConvGeometry& g, bool parts) const {
    return parts ? winograd_chunks_bytes(g, options_.batch.count, thread_budget())
                 : winograd_scratch_bytes(g, thread_budget());
  }

  // True if one product of all patches is the fastest way.
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
    ARGOSY_ASSIGN_OR_RETURN(onednn::Program* const program, programs_.get(conv_spec_of(options_, call.g, dtype), own));
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
    ARGOSY_ASSIGN_OR_RETURN(const Buffer memory, c.scratch(winograd_bytes(call.g, parts)));
    auto* const scratch = reinterpret_cast<float*>(memory.data());
    switch (options_.kind) {
      case ConvKind::kForward: winograd_forward(call.g, first, second, bias, options_.fused, result, scratch); break;
      case ConvKind::kBackwardInput: winograd_backward_input(call.g, first, second, result, scratch); break;
      case ConvKind::kBackwardFilter: winograd_backward_filter(call.g, first, second, ends, result, scratch); break;
    }
    return ok_status();
  }

  // Elements of both operands, the bias and the result.
  std::array<std::int64_t, 4> wide_sizes(const ConvGeometry& g) const {
    const std::int64_t in = g.in_elements(), out = g.out_elements(), filter = g.filter_elements();
    const std::int64_t bias = options_.fused.bias ? g.out_c : 0;
    switch (options_.kind) {
      case ConvKind::kForward: return {in, filter, bias, out};
      case ConvKind::kBackwardInput: return {out, filter, bias, in};
      case ConvKind::kBackwardFilter: break;
    }
    return {in, out, bias, filter};
  }
  std::size_t wide_bytes(const ConvGeometry& g) const {
    const auto sizes = wide_sizes(g);
    return static_cast<std::size_t>(sizes[0] + sizes[1] + sizes[2] + sizes[3]) * sizeof(float);
  }

  // float16, and bfloat16 on machines that cannot multiply it, or where Winograd's products are faster.
  Status by_float(KernelContext& c, const Call& call, bool winograd) {
    const auto [first, second, bias, result] = wide_sizes(call.g);
    ARGOSY_ASSIGN_OR_RETURN(const Buffer memory, c.scratch(wide_bytes(call.g)));
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
