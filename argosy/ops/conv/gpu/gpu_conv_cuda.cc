#include "argosy/ops/conv/gpu/gpu_conv.h"

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "argosy/base/log.h"
#include "argosy/device/cuda/driver/runtime_compiler.h"
#include "argosy/ops/layout/strided/gpu_copy_engine.h"

namespace argosy::cuda {

namespace {

const char* environment_of_process(const char* name) { return std::getenv(name); }

Result<std::shared_ptr<DnnConvolutions>> convolutions_of(CudaDevice& device) {
  ARGOSY_ASSIGN_OR_RETURN(const std::shared_ptr<Dnn> dnn, device.dnn());
  return std::static_pointer_cast<DnnConvolutions>(device.keep("convolutions by cuDNN", [&] {
    const GpuFacts& gpu = device.gpu();
    DnnConvolutions::Setup setup{.gpu = str_cat("sm_", gpu.major, gpu.minor, " ", gpu.name)};
    setup.only_place = only_engine(environment_of_process);
    if (autotune_wanted(environment_of_process)) {
      const std::string folder = default_cache_folder();
      setup.choices = std::make_shared<DnnChoices>(folder.empty() ? "" : folder + "/convolutions.txt");
    }
    return std::make_shared<DnnConvolutions>(dnn, std::move(setup));
  }));
}

// The sizes of images as [n, h, w, c], and their strides in one layout or the other.
struct ImageShape {
  std::int64_t n, h, w, c;
  Ints sizes() const { return {n, h, w, c}; }
  Ints strides(bool nchw) const { return nchw ? Ints{c * h * w, w, 1, h * w} : Ints{h * w * c, w * c, c, 1}; }
  std::int64_t elements() const { return n * h * w * c; }
};

// How cuDNN sees a convolution: perhaps with uneven padding added to the image, perhaps in the other layout.
struct Seen {
  bool nchw = false, padded = false;
  ImageShape image, output;
  DnnAxis h, w;
};

// One axis as cuDNN sees it. `written`: uneven padding is part of the image.
struct SeenAxis {
  DnnAxis axis;
  std::int64_t in = 0, before = 0;  // size, and where the image starts in it
};
std::optional<SeenAxis> see_axis(const WindowAxis& a, bool written) {
  WindowAxis seen = a;
  if (written && !pads_alike(a)) {
    seen.pad_before = 0;
    seen.in = std::max(a.in + a.pad_before, (a.out - 1) * a.stride + (a.window - 1) * a.dilation + 1);
  }
  const auto axis = dnn_axis(seen);
  if (!axis) return std::nullopt;
  return SeenAxis{.axis = *axis, .in = seen.in, .before = a.pad_before - seen.pad_before};
}

class LibraryConv {
 public:
  LibraryConv(KernelContext& c, const ConvCall& call, DnnConvolutions& convolutions)
      : c_(c), call_(call), convolutions_(convolutions), bytes_(element_bytes(call.dtype)) {}

  // Tries the layout of the images, then the other one; in each, first as it is, then with the padding added.
  Status run(void* result) {
    const ConvGeometry& g = call_.geometry;
    if (g.in_elements() == 0 || g.out_elements() == 0 || g.filter_elements() == 0) {
      return unimplemented("nothing to convolve");
    }
    const bool alike = pads_alike(g.h) && pads_alike(g.w);
    for (const bool nchw : {call_.nchw, !call_.nchw}) {
      for (const bool written : {false, true}) {
        if (written && alike) continue;
        const Status done = run_seen(nchw, written, result);
        if (done.code() != Code::kUnimplemented) return done;
      }
    }
    return unimplemented("the library has no way for this convolution");
  }

 private:
  Status run_seen(bool nchw, bool written, void* result) {
    const ConvGeometry& g = call_.geometry;
    const auto h = see_axis(g.h, written), w = see_axis(g.w, written);
    if (!h || !w || g.batch * g.in_c * h->in * w->in > std::numeric_limits<int>::max() ||
        g.out_elements() > std::numeric_limits<int>::max()) {
      return unimplemented("sizes beyond the library's");
    }
    before_h_ = h->before, before_w_ = w->before;
    return run_as({.nchw = nchw,
                   .padded = h->in != g.h.in || w->in != g.w.in,
                   .image = {g.batch, h->in, w->in, g.in_c},
                   .output = {g.batch, g.h.out, g.w.out, g.out_c},
                   .h = h->axis,
                   .w = w->axis},
                  result);
  }

  Status run_as(const Seen& seen, void* result) {
    const ConvGeometry& g = call_.geometry;
    DnnProblem p{.direction = call_.direction,
                 .dtype = call_.dtype,
                 .nchw = seen.nchw,
                 .batch = static_cast<int>(g.batch),
                 .in_c = static_cast<int>(g.in_c),
                 .out_c = static_cast<int>(g.out_c),
                 .groups = static_cast<int>(g.groups),
                 .h = seen.h,
                 .w = seen.w,
                 .tf32 = device().math().tf32,
                 .deterministic = device().math().deterministic};
    ARGOSY_ASSIGN_OR_RETURN(const CuStream stream, device().stream());
    ARGOSY_RETURN_IF_ERROR(convolutions_.offers(p, static_cast<void*>(stream)));
    if (call_.direction == kDnnForward) {
      ARGOSY_ASSIGN_OR_RETURN(const Operand x, image(seen));
      ARGOSY_ASSIGN_OR_RETURN(const Operand f, filter(seen.nchw));
      ARGOSY_ASSIGN_OR_RETURN(const Operand y, result_like(seen.output, seen.nchw, result));
      ARGOSY_RETURN_IF_ERROR(forward(p, x.data, f.data, y.data));
      return move_output(seen, y, result);
    }
    ARGOSY_ASSIGN_OR_RETURN(const Operand dy, output(seen));
    if (call_.direction == kDnnTowardsImage) {
      ARGOSY_ASSIGN_OR_RETURN(const Operand f, filter(seen.nchw));
      const bool whole = !seen.padded && seen.nchw == call_.nchw;
      Operand dx{result, {}};
      if (!whole) {
        ARGOSY_ASSIGN_OR_RETURN(dx, room(seen.image.elements()));
      }
      ARGOSY_RETURN_IF_ERROR(convolve(p, {f.data, dy.data, nullptr, dx.data}));
      return whole ? ok_status() : crop_image(seen, dx.data, result);
    }
    ARGOSY_ASSIGN_OR_RETURN(const Operand x, image(seen));
    ARGOSY_ASSIGN_OR_RETURN(const Operand df, room(g.filter_elements()));
    ARGOSY_RETURN_IF_ERROR(convolve(p, {x.data, dy.data, nullptr, df.data}));
    return move(result, df.data, turned_filter(seen.nchw), true);
  }

  // relu(convolution + bias) in one call if cuDNN has it; else bias and activation come after.
  Status forward(DnnProblem p, const void* x, const void* f, void* y) {
    if (call_.bias != nullptr && call_.fused.activation == FusedOps::Activation::kRelu) {
      p.bias_relu = true;
      const Status done = convolve(p, {x, f, call_.bias, y});  // asks for nothing where it was refused before
      if (done.code() != Code::kUnimplemented) return done;
      p.bias_relu = false;
    }
    ARGOSY_RETURN_IF_ERROR(convolve(p, {x, f, nullptr, y}));
    if (call_.bias == nullptr && call_.fused.activation == FusedOps::Activation::kNone) return ok_status();
    const std::int64_t n = call_.geometry.out_elements(),
                       inner = p.nchw ? call_.geometry.h.out * call_.geometry.w.out : 1;
    return launch(c_, {"conv", str_cat("conv_finish_", type_suffix(call_.dtype))}, grid_for(n), n, call_.geometry.out_c,
                  inner, call_.bias, static_cast<int>(call_.fused.activation), call_.fused.alpha, y);
  }

  Status convolve(DnnProblem p, const DnnConvolutions::Pointers& at) {
    // Finds the alignment of all operands, which engines with vector access need to know.
    for (const void* pointer : {at.first, at.second, at.bias, static_cast<const void*>(at.result)}) {
      while (reinterpret_cast<std::uintptr_t>(pointer) % static_cast<unsigned>(p.alignment) != 0) p.alignment /= 2;
    }
    ARGOSY_ASSIGN_OR_RETURN(const CuStream stream, device().stream());
    // This is a task of the device's compute stream, which must not wait for itself: what is waited for is the GPU.
    const auto clock = [this](const std::function<Status()>& work) -> Result<double> {
      ARGOSY_RETURN_IF_ERROR(device().launch_queue()->finish());
      const auto start = std::chrono::steady_clock::now();
      ARGOSY_RETURN_IF_ERROR(work());
      ARGOSY_RETURN_IF_ERROR(device().launch_queue()->finish());
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    return convolutions_.convolve(p, at, c_.allocator(), static_cast<void*>(stream), clock);
  }

  struct Operand {
    void* data = nullptr;
    Buffer memory;  // its own, where it is a copy
  };
  Result<Operand> room(std::int64_t elements) {
    ARGOSY_ASSIGN_OR_RETURN(Buffer memory, c_.scratch(static_cast<std::size_t>(elements) * bytes_));
    void* const data = memory.data();
    return Operand{data, std::move(memory)};
  }
  static void* as_is(const void* data) { return const_cast<void*>(data); }

  // Copies `region`; `back`: in the other direction.
  Status move(void* to, const void* from, const Region& region, bool back = false) {
    Region r = region;
    if (back) std::swap(r.to, r.from);
    GpuCopyEngine copy_engine(c_);
    copy_engine.move(to, from, bytes_, r);
    return copy_engine.status();
  }

  // The copy from TensorFlow's filter, [h, w, in, out], to cuDNN's.
  Region turned_filter(bool nchw) const {
    const ConvGeometry& g = call_.geometry;
    const std::int64_t window = g.h.window * g.w.window, in = g.in_c_per_group();
    Region r;
    r.add(g.out_c, window * in, 1);
    if (nchw) {
      r.add(in, window, g.out_c);
      r.add(window, 1, in * g.out_c);
    } else {
      r.add(window * in, 1, g.out_c);
    }
    return r;
  }
  Result<Operand> filter(bool nchw) {
    ARGOSY_ASSIGN_OR_RETURN(Operand f, room(call_.geometry.filter_elements()));
    ARGOSY_RETURN_IF_ERROR(move(f.data, call_.filter, turned_filter(nchw)));
    return f;
  }

  // The copy of the image into its padded form, in the layout that cuDNN sees; `to` is the padded side.
  Region inside(const Seen& seen) const {
    const ConvGeometry& g = call_.geometry;
    const ImageShape own{g.batch, g.h.in, g.w.in, g.in_c};
    return {own.sizes(), seen.image.strides(seen.nchw), own.strides(call_.nchw)};
  }
  std::size_t first_inside(const Seen& seen) const {
    const Ints strides = seen.image.strides(seen.nchw);
    return static_cast<std::size_t>(before_h_ * strides[1] + before_w_ * strides[2]) * bytes_;
  }
  Result<Operand> image(const Seen& seen) {
    if (!seen.padded && seen.nchw == call_.nchw) return Operand{as_is(call_.image), {}};
    ARGOSY_ASSIGN_OR_RETURN(Operand x, room(seen.image.elements()));
    if (seen.padded) {
      GpuCopyEngine copy_engine(c_);
      const Bytes16 zero{};
      copy_engine.fill(x.data, seen.image.elements(), bytes_, &zero);
      ARGOSY_RETURN_IF_ERROR(copy_engine.status());
    }
    ARGOSY_RETURN_IF_ERROR(move(static_cast<std::byte*>(x.data) + first_inside(seen), call_.image, inside(seen)));
    return x;
  }
  Status crop_image(const Seen& seen, const void* padded, void* to) {
    return move(to, static_cast<const std::byte*>(padded) + first_inside(seen), inside(seen), true);
  }

  Region other_layout(const Seen& seen) const {
    return {seen.output.sizes(), seen.output.strides(seen.nchw), seen.output.strides(call_.nchw)};
  }
  Result<Operand> output(const Seen& seen) {
    if (seen.nchw == call_.nchw) return Operand{as_is(call_.output), {}};
    ARGOSY_ASSIGN_OR_RETURN(Operand dy, room(seen.output.elements()));
    ARGOSY_RETURN_IF_ERROR(move(dy.data, call_.output, other_layout(seen)));
    return dy;
  }
  Result<Operand> result_like(const ImageShape& shape, bool nchw, void* result) {
    if (nchw == call_.nchw) return Operand{result, {}};
    return room(shape.elements());
  }
  Status move_output(const Seen& seen, const Operand& y, void* result) {
    if (y.data == result) return ok_status();
    return move(result, y.data, other_layout(seen), true);
  }

  CudaDevice& device() const { return device_of(*c_.device()); }

  KernelContext& c_;
  const ConvCall& call_;
  DnnConvolutions& convolutions_;
  const std::size_t bytes_;
  std::int64_t before_h_ = 0, before_w_ = 0;
};

}  // namespace

Status conv_by_library(KernelContext& c, const ConvCall& call, void* result) {
  ARGOSY_ASSIGN_OR_RETURN(const std::shared_ptr<DnnConvolutions> convolutions, convolutions_of(device_of(*c.device())));
  return LibraryConv(c, call, *convolutions).run(result);
}

bool autotune_wanted(const char* (*environment)(const char*)) {
  const char* const value = environment("ARGOSY_CUDNN_AUTOTUNE");
  return value != nullptr && std::string_view(value) == "1";
}

std::optional<int> only_engine(const char* (*environment)(const char*)) {
  const char* const text = environment("ARGOSY_CUDNN_ENGINE");
  if (text == nullptr) return std::nullopt;
  const char* const end = text + std::strlen(text);
  int place = 0;
  const auto [stop, error] = std::from_chars(text, end, place);
  if (error == std::errc() && stop == end && place >= 0) return place;
  ARGOSY_LOG(kWarning, "ARGOSY_CUDNN_ENGINE=", text, " is not a number: it is not read");
  return std::nullopt;
}

}  // namespace argosy::cuda
