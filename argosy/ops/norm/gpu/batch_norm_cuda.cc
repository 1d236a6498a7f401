// Batch normalisation on a GPU by our own kernels: first the statistics, then every element.
#include "argosy/ops/norm/gpu/gpu_batch_norm.h"

namespace argosy {

void add_kernels_cuda_batch_norm(KernelRegistry& kernels);

namespace {

using batch_norm::Backward;
using batch_norm::Forward;
using batch_norm::Layout;
using batch_norm::Options;
using cuda::GpuChannels;

constexpr const char* kModule = "batch_norm";
constexpr int kThreads = 128, kLanes = 32;  // as in batch_norm_cuda.cu
// Blocks that are enough for any GPU, and rows a thread should have at least: numbers of no GPU, so that sums are the
// same on all.
constexpr std::int64_t kBlocks = 1024, kRowsPerThread = 8, kMostChunks = 256;

std::int64_t tiles_of(const GpuChannels& g) {
  const std::int64_t across = g.lanes * g.vec;
  return (g.channels + across - 1) / across;
}
// Of tensors at `memory`.
GpuChannels channels_of(const Layout& l, DType dtype, std::initializer_list<const void*> memory) {
  GpuChannels g{l.outer, l.channels, l.inner, 1, 1, 1};
  const auto vec = static_cast<int>(16 / element_bytes(dtype));
  const auto lies = [](const void* at) { return reinterpret_cast<std::uintptr_t>(at) % 16 == 0; };
  if (l.inner == 1 && l.channels % vec == 0 && std::all_of(memory.begin(), memory.end(), lies)) g.vec = vec;
  while (l.inner == 1 && g.lanes < kLanes && g.lanes * g.vec < l.channels) g.lanes *= 2;
  const std::int64_t tiles = tiles_of(g), rows_of_block = kThreads / g.lanes * kRowsPerThread;
  const std::int64_t wanted = std::min(kBlocks / tiles + 1, l.count() / rows_of_block);
  g.chunks = static_cast<int>(std::clamp<std::int64_t>(wanted, 1, kMostChunks));
  return g;
}
cuda::LaunchShape grid_of(const GpuChannels& g) {
  const std::int64_t blocks = tiles_of(g) * g.chunks;
  return {.grid = {.x = static_cast<unsigned>(std::min<std::int64_t>(blocks, cuda::kMostBlocks))},
          .block = {.x = kThreads}};
}

struct Scratch {
  Buffer memory;
  float* data() const { return reinterpret_cast<float*>(memory.data()); }
  static Result<Scratch> of(KernelContext& c, std::int64_t floats) {
    ARGOSY_ASSIGN_OR_RETURN(Buffer memory, c.scratch(static_cast<std::size_t>(floats) * sizeof(float)));
    return Scratch{std::move(memory)};
  }
};

std::string named(std::string_view kernel, DType dtype) {
  return str_cat("batch_norm_", kernel, cuda::type_suffix(dtype));
}

Status must_have_shape(KernelContext& c, const Options& o, int i, const Shape& shape) {
  if (c.input(i).shape() == shape) return ok_status();
  return invalid_argument(o.op, ": input ", i, " and x must have one shape, not ", c.input(i).shape(), " and ", shape)
      .with_id("ARG-SHAPE-013");
}

class BatchNorm final : public Kernel {
 public:
  explicit BatchNorm(Options options) : o_(std::move(options)) {}

  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const Forward f, batch_norm::begin_forward(c, o_));
    const Tensor& x = *f.x;
    const Layout& l = f.layout;
    if (x.elements() == 0) return nothing_to_count(c, f);
    const GpuChannels g = channels_of(l, x.dtype(), {x.raw()});
    ARGOSY_ASSIGN_OR_RETURN(const Scratch line, Scratch::of(c, 2 * l.channels));
    ARGOSY_ASSIGN_OR_RETURN(const Scratch parts, Scratch::of(c, o_.training ? 2 * g.chunks * l.channels : 0));
    if (o_.training) {
      ARGOSY_RETURN_IF_ERROR(
          cuda::launch(c, {kModule, named("moments_", x.dtype())}, grid_of(g), g, x.raw(), parts.data()));
    }
    const cuda::GpuBatchNorm n = batch_norm::vectors_of(c, o_, f, line.data());
    ARGOSY_RETURN_IF_ERROR(
        cuda::launch(c, {kModule, "batch_norm_statistics"}, cuda::grid_for(l.channels), g, parts.data(), n));
    const void* const side = o_.sides > 0 ? c.input(5).raw() : nullptr;
    return cuda::launch(c, {kModule, named("", x.dtype())}, cuda::grid_for_vecs(x.elements(), element_bytes(x.dtype())),
                        g, x.raw(), line.data(), side, o_.relu ? 1 : 0, f.y->raw());
  }

 private:
  // No rows: statistics of nothing.
  static Status nothing_to_count(KernelContext& c, const Forward& f) {
    cuda::CudaDevice& device = cuda::device_of(*c.device());
    for (int i = 0; f.layout.channels > 0 && i < 4; ++i) {
      const std::uint32_t bits = i >= 2 ? 0 : 0x7fc00000u;
      ARGOSY_RETURN_IF_ERROR(device.fill(f.stats[i], 4, bits, static_cast<std::size_t>(f.layout.channels)));
    }
    return ok_status();
  }

  const Options o_;
};

class BatchNormGradient final : public Kernel {
 public:
  explicit BatchNormGradient(Options options) : o_(std::move(options)) {}

  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const Backward b, batch_norm::begin_backward(c, o_));
    const Tensor &dy = *b.dy, &x = *b.x;
    const Layout& l = b.layout;
    if (x.elements() == 0) {
      for (const Tensor* t : {b.dscale, b.doffset}) {
        if (t->elements() == 0) continue;
        ARGOSY_RETURN_IF_ERROR(cuda::device_of(*c.device()).fill(t->raw(), 4, 0, static_cast<std::size_t>(l.channels)));
      }
      return ok_status();
    }
    const void* const gate = o_.relu ? c.input(7).raw() : nullptr;
    const GpuChannels g = channels_of(l, x.dtype(), {dy.raw(), x.raw(), gate});
    ARGOSY_ASSIGN_OR_RETURN(const Scratch parts, Scratch::of(c, 2 * g.chunks * l.channels));
    ARGOSY_ASSIGN_OR_RETURN(const Scratch plane, Scratch::of(c, 3 * l.channels));
    ARGOSY_RETURN_IF_ERROR(cuda::launch(c, {kModule, named("gradient_sums_", x.dtype())}, grid_of(g), g, dy.raw(),
                                        x.raw(), gate, c.input(3).raw(), parts.data()));
    const auto input = [&](int i) { return c.input(i).raw_as<const float>(); };
    const cuda::GpuBatchNormGradient n{.scale = input(2),
                                       .mean = input(3),
                                       .variance = input(4),
                                       .dscale = b.dscale->raw_as<float>(),
                                       .doffset = b.doffset->raw_as<float>(),
                                       .plane = plane.data(),
                                       .epsilon = o_.epsilon,
                                       .training = o_.training ? 1 : 0};
    ARGOSY_RETURN_IF_ERROR(
        cuda::launch(c, {kModule, "batch_norm_gradient_statistics"}, cuda::grid_for(l.channels), g, parts.data(), n));
    return cuda::launch(c, {kModule, named("gradient_", x.dtype())},
                        cuda::grid_for_vecs(x.elements(), element_bytes(x.dtype())), g, dy.raw(), x.raw(), gate,
                        plane.data(), b.dx->raw(), b.side);
  }

 private:
  const Options o_;
};

}  // namespace

namespace batch_norm {

Result<Forward> begin_forward(KernelContext& c, const Options& o) {
  const Tensor& x = c.input(0);
  ARGOSY_ASSIGN_OR_RETURN(const Layout l, o.layout(x.shape()));
  const bool running = !o.training || o.factor != 1;
  for (int i = 1; i < 5; ++i) {
    const bool none = i > 2 && !running && c.input(i).shape() == Shape{0};
    if (!none) ARGOSY_RETURN_IF_ERROR(must_be_channels(c, o, i, l.channels));
  }
  if (o.sides > 0) ARGOSY_RETURN_IF_ERROR(must_have_shape(c, o, 5, x.shape()));
  Forward f{.layout = l, .x = &x};
  ARGOSY_ASSIGN_OR_RETURN(f.y, c.output(0, x.shape()));
  for (int i = 0; i < 4; ++i) {
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const out, c.output(i + 1, {l.channels}));
    f.stats[i] = out->raw_as<float>();
  }
  if (c.num_outputs() > 5) ARGOSY_RETURN_IF_ERROR(c.output(5, {0}).status());
  return f;
}

cuda::GpuBatchNorm vectors_of(const KernelContext& c, const Options& o, const Forward& f, float* line) {
  const auto input = [&](int i) { return c.input(i).raw_as<const float>(); };
  return {.scale = input(1),
          .offset = input(2),
          .mean = input(3),
          .variance = input(4),
          .new_mean = f.stats[0],
          .new_variance = f.stats[1],
          .kept_mean = f.stats[2],
          .kept_variance = f.stats[3],
          .line = line,
          .epsilon = o.epsilon,
          .factor = o.factor,
          .training = o.training ? 1 : 0};
}

Result<Backward> begin_backward(KernelContext& c, const Options& o) {
  const Tensor &dy = c.input(0), &x = c.input(1);
  ARGOSY_RETURN_IF_ERROR(must_have_shape(c, o, 0, x.shape()));
  ARGOSY_ASSIGN_OR_RETURN(const Layout l, o.layout(x.shape()));
  for (int i = 2; i < 5; ++i) ARGOSY_RETURN_IF_ERROR(must_be_channels(c, o, i, l.channels));
  if (o.op == "_FusedBatchNormGradEx") {
    ARGOSY_RETURN_IF_ERROR(must_be_channels(c, o, 6, l.channels));
    ARGOSY_RETURN_IF_ERROR(must_have_shape(c, o, 7, x.shape()));
  }
  Backward b{.layout = l, .dy = &dy, .x = &x};
  ARGOSY_ASSIGN_OR_RETURN(b.dx, c.output(0, x.shape()));
  ARGOSY_ASSIGN_OR_RETURN(b.dscale, c.output(1, {l.channels}));
  ARGOSY_ASSIGN_OR_RETURN(b.doffset, c.output(2, {l.channels}));
  for (int i = 3; i < 5; ++i) ARGOSY_RETURN_IF_ERROR(c.output(i, {0}).status());
  if (o.sides > 0) {
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const out, c.output(5, x.shape()));
    b.side = out->raw();
  }
  return b;
}

Result<std::unique_ptr<Kernel>> make_own(const KernelInit& init) {
  ARGOSY_ASSIGN_OR_RETURN(Options options, Options::read(init));
  return std::unique_ptr<Kernel>(std::make_unique<BatchNorm>(std::move(options)));
}
Result<std::unique_ptr<Kernel>> make_own_gradient(const KernelInit& init) {
  ARGOSY_ASSIGN_OR_RETURN(Options options, Options::read(init));
  return std::unique_ptr<Kernel>(std::make_unique<BatchNormGradient>(std::move(options)));
}

}  // namespace batch_norm

void add_kernels_cuda_batch_norm(KernelRegistry& kernels) {
  const std::vector<KernelTypes> types = {{"T", {DType::kFloat32, DType::kFloat16, DType::kBfloat16}}};
  for (const char* op : {"FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3", "_FusedBatchNormEx"}) {
    kernels.add(op, "cuda", batch_norm::make_by_dnn, types);
    kernels.add(op, "cuda", batch_norm::make_own, types);
  }
  for (const char* op :
       {"FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3", "_FusedBatchNormGradEx"}) {
    kernels.add(op, "cuda", batch_norm::make_gradient_by_dnn, types);
    kernels.add(op, "cuda", batch_norm::make_own_gradient, types);
  }
}

}  // namespace argosy
