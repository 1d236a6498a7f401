// Convolution and pooling of volumes on a GPU. Convolutions are matrix products over unrolled windows, in parts of at
// most kUnrolledBytes.
#include "argosy/ops/conv3d/conv3d_cuda.h"

#include "argosy/ops/conv3d/conv3d_geometry.h"
#include "argosy/ops/layout/strided/gpu_copy_engine.h"
#include "argosy/ops/matmul/gpu_gemm.h"

namespace argosy {

namespace {

using cuda::type_suffix;
using cuda::VolumeAxis;
using cuda::Volumes;
using cuda::VolumeStrides;
using windows3d::Attributes;
using windows3d::Geometry;
using Sizes = std::vector<std::int64_t>;

constexpr const char* kModule = "conv3d";
constexpr std::int64_t kUnrolledBytes = std::int64_t{256} << 20;

Sizes sizes_of(const Shape& shape) { return {shape.sizes().begin(), shape.sizes().end()}; }
// Returns the shape with channels last of an op's volume.
Result<Shape> last(const Attributes& a, const Shape& shape) {
  return a.channels_first && shape.rank() == 5 ? Shape::make(windows3d::channels_last(sizes_of(shape))) : shape;
}
Result<Shape> own(const Attributes& a, const Shape& shape) {
  return a.channels_first ? Shape::make(windows3d::channels_second(sizes_of(shape))) : shape;
}

VolumeAxis axis_of(const Windows& w) { return {w.size, w.window, w.stride, w.rate, w.count, w.before}; }
VolumeStrides strides_of(const Attributes& a, std::int64_t d, std::int64_t h, std::int64_t w, std::int64_t c) {
  if (a.channels_first) return {c * d * h * w, h * w, w, 1, d * h * w};
  return {d * h * w * c, h * w * c, w * c, c, 1};
}
Volumes volumes_of(const Attributes& a, const Geometry& g) {
  const auto& [d, h, w] = g.axes;
  return {g.batch,
          g.channels,
          axis_of(d),
          axis_of(h),
          axis_of(w),
          strides_of(a, d.size, h.size, w.size, g.channels),
          strides_of(a, d.count, h.count, w.count, g.channels)};
}

// A volume with channels last; a copy if the op has them second.
struct Dense {
  const void* data = nullptr;
  Buffer memory;
};
// The copy between NCDHW and NDHWC: a transpose of matrices [channels, cells] and [cells, channels].
Region turn(std::int64_t batch, std::int64_t cells, std::int64_t channels, bool to_last) {
  Region region;
  region.add(batch, cells * channels, cells * channels);
  region.add(cells, to_last ? channels : 1, to_last ? 1 : channels);
  region.add(channels, to_last ? 1 : cells, to_last ? cells : 1);
  return region;
}
Result<Dense> dense(KernelContext& c, const Attributes& a, const Tensor& t, const Shape& shape) {
  if (!a.channels_first || t.elements() == 0) return Dense{t.raw(), {}};
  Dense copy;
  ARGOSY_ASSIGN_OR_RETURN(copy.memory, c.scratch(t.bytes()));
  copy.data = copy.memory.data();
  cuda::GpuCopyEngine copy_engine(c);
  const std::int64_t channels = shape.back(), cells = t.elements() / shape[0] / channels;
  copy_engine.move(copy.memory.data(), t.raw(), element_bytes(t.dtype()), turn(shape[0], cells, channels, true));
  ARGOSY_RETURN_IF_ERROR(copy_engine.status());
  return copy;
}

Status zero(KernelContext& c, const Tensor& t) {
  if (t.bytes() == 0) return ok_status();
  return cuda::device_of(*c.device()).fill(t.raw(), 1, 0, t.bytes());
}

class Conv3D final : public Kernel {
 public:
  Conv3D(const KernelInit& init, Attributes attributes)
      : op_(init.op.name), attributes_(std::move(attributes)), capturable_(cuda::reads_constants_only(init)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    ARGOSY_ASSIGN_OR_RETURN(Attributes a, windows3d::read_attributes(init.op.name, init.attrs));
    return std::unique_ptr<Kernel>(std::make_unique<Conv3D>(init, std::move(a)));
  }
  bool capturable() const override { return capturable_; }

  Status run(KernelContext& c) override {
    const bool to_input = op_ == "Conv3DBackpropInputV2", to_filter = op_ == "Conv3DBackpropFilterV2";
    Shape x = c.input(0).shape(), filter = c.input(1).shape();
    for (int i = 0; i < 2; ++i) {
      if (!(i == 0 ? to_input : to_filter)) continue;
      if (c.input(i).shape().rank() != 1) {
        return invalid_argument(op_, ": sizes must be a vector, not of shape ", c.input(i).shape());
      }
      ARGOSY_ASSIGN_OR_RETURN((i == 0 ? x : filter), to_shape(c.input(i), "Conv3D: sizes"));
    }
    const Shape given = x;
    ARGOSY_ASSIGN_OR_RETURN(x, last(attributes_, x));
    if (x.rank() != 5 || filter.rank() != 5 || x[4] != filter[3]) {
      return invalid_argument(op_, ": input ", x, " and filter ", filter,
                              " must have 5 axes, and the filter as many channels as the input");
    }
    ARGOSY_ASSIGN_OR_RETURN(const Geometry g,
                            windows3d::place_windows(op_, attributes_, sizes_of(x), {filter[0], filter[1], filter[2]}));
    ARGOSY_ASSIGN_OR_RETURN(const Shape y, Shape::make(windows3d::output_sizes(g, attributes_, filter[4])));
    ARGOSY_ASSIGN_OR_RETURN(const Shape y_own, own(attributes_, y));
    if ((to_input || to_filter) && !(c.input(2).shape() == y_own)) {
      return invalid_argument(op_, ": out_backprop has shape ", c.input(2).shape(),
                              ", the convolution (channels last) ", y);
    }
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const out, c.output(0, to_input ? given : to_filter ? filter : y_own));
    if (out->elements() == 0) return ok_status();
    if (y.elements() == 0 || x.elements() == 0) return zero(c, *out);
    if (to_input) return back_to_input(c, g, y, *out);
    return to_filter ? back_to_filter(c, g, y, *out) : forward(c, g, y, *out);
  }

 private:
  // The number of rows of unrolled windows in memory at once.
  struct Parts {
    std::int64_t rows, width, at_once;
    Buffer memory;
  };
  static Result<Parts> parts_of(KernelContext& c, const Geometry& g, DType dtype) {
    const auto bytes = static_cast<std::int64_t>(element_bytes(dtype));
    Parts p{g.batch * g.windows(), g.window_cells() * g.channels, 0, {}};
    p.at_once = std::clamp<std::int64_t>(kUnrolledBytes / (p.width * bytes), 1, p.rows);
    ARGOSY_ASSIGN_OR_RETURN(p.memory, c.scratch(static_cast<std::size_t>(p.at_once * p.width * bytes)));
    return p;
  }
  static Status unroll(KernelContext& c, const Volumes& v, const Parts& p, std::int64_t first, std::int64_t rows,
                       const Tensor& x) {
    return cuda::launch(c, {kModule, str_cat("conv3d_unroll_", cuda::size_suffix(x.dtype()))},
                        cuda::grid_for(rows * p.width), v, first, rows, x.raw(), p.memory.data());
  }
  static const void* at(const void* base, std::int64_t elements, DType dtype) {
    return static_cast<const std::byte*>(base) + elements * static_cast<std::int64_t>(element_bytes(dtype));
  }

  Status forward(KernelContext& c, const Geometry& g, const Shape& y, const Tensor& out) const {
    const Tensor& x = c.input(0);
    const std::int64_t outputs = y.back();
    ARGOSY_ASSIGN_OR_RETURN(const Parts p, parts_of(c, g, x.dtype()));
    const Volumes v = volumes_of(attributes_, g);
    Buffer memory;
    void* to = out.raw();
    if (attributes_.channels_first) {
      ARGOSY_ASSIGN_OR_RETURN(memory, c.scratch(out.bytes()));
      to = memory.data();
    }
    for (std::int64_t first = 0; first < p.rows; first += p.at_once) {
      const std::int64_t n = std::min(p.at_once, p.rows - first);
      ARGOSY_RETURN_IF_ERROR(unroll(c, v, p, first, n, x));
      ARGOSY_RETURN_IF_ERROR(cuda::gemm_on_gpu(c, x.dtype(), {.m = n, .n = outputs, .k = p.width}, {}, p.memory.data(),
                                               c.input(1).raw(), nullptr, {},
                                               const_cast<void*>(at(to, first * outputs, x.dtype()))));
    }
    if (!attributes_.channels_first) return ok_status();
    cuda::GpuCopyEngine copy_engine(c);
    copy_engine.move(out.raw(), to, element_bytes(out.dtype()), turn(g.batch, g.windows(), outputs, false));
    return copy_engine.status();
  }

  Status back_to_input(KernelContext& c, const Geometry& g, const Shape& y, const Tensor& dx) const {
    const std::int64_t outputs = y.back();
    ARGOSY_ASSIGN_OR_RETURN(const Dense dy, dense(c, attributes_, c.input(2), y));
    ARGOSY_ASSIGN_OR_RETURN(const Parts p, parts_of(c, g, dx.dtype()));
    const Volumes v = volumes_of(attributes_, g);
    for (std::int64_t first = 0; first < p.rows; first += p.at_once) {
      const std::int64_t n = std::min(p.at_once, p.rows - first);
      ARGOSY_RETURN_IF_ERROR(cuda::gemm_on_gpu(c, dx.dtype(), {.transpose_b = true, .m = n, .n = p.width, .k = outputs},
                                               {}, at(dy.data, first * outputs, dx.dtype()), c.input(1).raw(), nullptr,
                                               {}, p.memory.data()));
      ARGOSY_RETURN_IF_ERROR(cuda::launch(c, {kModule, str_cat("conv3d_roll_", type_suffix(dx.dtype()))},
                                          cuda::grid_for(dx.elements()), v, first, n, p.memory.data(), dx.raw(),
                                          first > 0 ? 1 : 0));
    }
    return ok_status();
  }

  Status back_to_filter(KernelContext& c, const Geometry& g, const Shape& y, const Tensor& out) const {
    const Tensor& x = c.input(0);
    const std::int64_t outputs = y.back();
    ARGOSY_ASSIGN_OR_RETURN(const Dense dy, dense(c, attributes_, c.input(2), y));
    ARGOSY_ASSIGN_OR_RETURN(const Parts p, parts_of(c, g, x.dtype()));
    ARGOSY_ASSIGN_OR_RETURN(const Buffer part, c.scratch(out.bytes()));
    const Volumes v = volumes_of(attributes_, g);
    for (std::int64_t first = 0; first < p.rows; first += p.at_once) {
      const std::int64_t n = std::min(p.at_once, p.rows - first);
      ARGOSY_RETURN_IF_ERROR(unroll(c, v, p, first, n, x));
      ARGOSY_RETURN_IF_ERROR(cuda::gemm_on_gpu(c, x.dtype(), {.transpose_a = true, .m = p.width, .n = outputs, .k = n},
                                               {}, p.memory.data(), at(dy.data, first * outputs, x.dtype()), nullptr,
                                               {}, first == 0 ? out.raw() : part.data()));
      if (first == 0) continue;
      cuda::GpuCopyEngine copy_engine(c);
      copy_engine.add(out.raw(), out.raw(), part.data(), out.elements(), out.dtype());
      ARGOSY_RETURN_IF_ERROR(copy_engine.status());
    }
    return ok_status();
  }

  const std::string op_;
  const Attributes attributes_;
  const bool capturable_;
};

class Pool3D final : public Kernel {
 public:
  Pool3D(const KernelInit& init, Attributes attributes)
      : op_(init.op.name), attributes_(std::move(attributes)), capturable_(cuda::reads_constants_only(init)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    ARGOSY_ASSIGN_OR_RETURN(Attributes a, windows3d::read_attributes(init.op.name, init.attrs));
    return std::unique_ptr<Kernel>(std::make_unique<Pool3D>(init, std::move(a)));
  }
  bool capturable() const override { return capturable_; }

  Status run(KernelContext& c) override {
    const bool average_back = op_ == "AvgPool3DGrad", max_back = op_ == "MaxPool3DGrad",
               pick = op_ == "MaxPool3DGradGrad";
    Shape x = c.input(0).shape();
    if (average_back) {
      if (x.rank() != 1) {
        return invalid_argument(op_, ": orig_input_shape must be a vector, not of shape ", c.input(0).shape());
      }
      ARGOSY_ASSIGN_OR_RETURN(x, to_shape(c.input(0), "AvgPool3DGrad: orig_input_shape"));
    }
    if (x.rank() != 5) return invalid_argument(op_, ": the input must have 5 axes, not shape ", x);
    ARGOSY_ASSIGN_OR_RETURN(const Shape image, last(attributes_, x));
    ARGOSY_ASSIGN_OR_RETURN(const Geometry g, windows3d::place_windows(op_, attributes_, sizes_of(image), {}));
    ARGOSY_ASSIGN_OR_RETURN(const Shape y, Shape::make(windows3d::output_sizes(g, attributes_, g.channels)));
    ARGOSY_ASSIGN_OR_RETURN(const Shape y_own, own(attributes_, y));
    if (max_back || pick) ARGOSY_RETURN_IF_ERROR(expect(c.input(1), y_own, "orig_output"));
    if (max_back || pick) ARGOSY_RETURN_IF_ERROR(expect(c.input(2), pick ? x : y_own, "grad"));
    if (average_back) ARGOSY_RETURN_IF_ERROR(expect(c.input(1), y_own, "grad"));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const out, c.output(0, average_back || max_back ? x : y_own));
    if (out->elements() == 0) return ok_status();
    if (y.elements() == 0 || x.elements() == 0) return zero(c, *out);
    const Volumes v = volumes_of(attributes_, g);
    const cuda::LaunchShape shape = cuda::grid_for(out->elements());
    const auto named = [&](const char* kernel) { return str_cat(kernel, type_suffix(out->dtype())); };
    if (average_back) {
      return cuda::launch(c, {kModule, named("pool3d_average_back_")}, shape, v, c.input(1).raw(), out->raw());
    }
    if (max_back || pick) {
      return cuda::launch(c, {kModule, named(pick ? "pool3d_max_pick_" : "pool3d_max_back_")}, shape, v,
                          c.input(0).raw(), c.input(1).raw(), c.input(2).raw(), out->raw());
    }
    return cuda::launch(c, {kModule, named(op_ == "MaxPool3D" ? "pool3d_max_" : "pool3d_average_")}, shape, v,
                        c.input(0).raw(), out->raw());
  }

 private:
  Status expect(const Tensor& t, const Shape& shape, const char* what) const {
    if (t.shape() == shape) return ok_status();
    return invalid_argument(op_, ": ", what, " has shape ", t.shape(), ", not ", shape);
  }

  const std::string op_;
  const Attributes attributes_;
  const bool capturable_;
};

}  // namespace

void add_kernels_cuda_conv3d(KernelRegistry& kernels) {
  for (const char* op : {"Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2"}) {
    kernels.add(op, "cuda", Conv3D::make, {{"T", cuda::kFloatingTypes}});
  }
  for (const char* op : {"MaxPool3D", "MaxPool3DGradGrad", "AvgPool3D", "AvgPool3DGrad"}) {
    kernels.add(op, "cuda", Pool3D::make, {{"T", cuda::kFloatingTypes}});
  }
  for (const DType dtype : cuda::kFloatingTypes) {
    kernels.add("MaxPool3DGrad", "cuda", Pool3D::make, {{"T", {dtype}}, {"TInput", {dtype}}});
  }
}

}  // namespace argosy
