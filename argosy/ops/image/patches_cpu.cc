// Kernels: windows of images.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "argosy/base/system/random_source.h"
#include "argosy/ops/attr_kernel.h"
#include "argosy/ops/image/image_checks.h"
#include "argosy/ops/image/image_registration.h"
#include "argosy/ops/image/patch_windows.h"
#include "argosy/ops/random/fill.h"
#include "argosy/ops/random/op_generator.h"
#include "argosy/ops/random/philox.h"
#include "argosy/tensor/ints.h"

namespace argosy::image {

namespace {

// An image is a volume of one plane.
template <int axes>
Status windows(KernelContext& c, const AttrMap& attrs) {
  const Tensor& x = c.input(0);
  if (x.shape().rank() != axes + 2)
    return invalid_argument("input must be ", axes + 2, "-dimensional, not ", x.shape());
  ARGOSY_ASSIGN_OR_RETURN(const Windows w, Windows::make(attrs, axes));
  const std::int64_t depth = x.shape()[axes + 1];
  std::int64_t size[3] = {1, 1, 1}, count[3] = {1, 1, 1}, window[3] = {1, 1, 1}, stride[3] = {1, 1, 1},
               rate[3] = {1, 1, 1}, before[3] = {};
  std::vector<std::int64_t> sizes = {x.shape()[0]};
  for (int i = 0; i < axes; ++i) {
    const auto axis = static_cast<std::size_t>(i);
    const int at = 3 - axes + i;
    size[at] = x.shape()[i + 1];
    ARGOSY_ASSIGN_OR_RETURN(count[at], w.count(axis, size[at]));
    window[at] = w.sizes[axis];
    stride[at] = w.strides[axis];
    rate[at] = w.rates[axis];
    before[at] = w.before(axis, size[at]);
    sizes.push_back(count[at]);
  }
  ARGOSY_ASSIGN_OR_RETURN(const Shape row,
                          Shape::make(std::vector<std::int64_t>{window[0], window[1], window[2], depth}));
  sizes.push_back(row.elements());
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(sizes));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  if (shape.elements() == 0) return ok_status();
  const std::size_t bytes = static_cast<std::size_t>(depth) * element_bytes(x.dtype());
  auto* to = static_cast<char*>(y->raw());
  const auto* const from = static_cast<const char*>(x.raw());
  for (std::int64_t b = 0; b < x.shape()[0]; ++b) {
    for (std::int64_t place = 0; place < count[0] * count[1] * count[2]; ++place) {
      const std::int64_t start[3] = {place / (count[1] * count[2]) * stride[0] - before[0],
                                     place / count[2] % count[1] * stride[1] - before[1],
                                     place % count[2] * stride[2] - before[2]};
      for (std::int64_t p = 0; p < window[0]; ++p) {
        for (std::int64_t r = 0; r < window[1]; ++r) {
          for (std::int64_t k = 0; k < window[2]; ++k, to += bytes) {
            const std::int64_t at[3] = {start[0] + p * rate[0], start[1] + r * rate[1], start[2] + k * rate[2]};
            bool inside = true;
            for (int i = 0; i < 3; ++i) inside = inside && at[i] >= 0 && at[i] < size[i];
            if (inside) {
              const std::int64_t pixel = ((b * size[0] + at[0]) * size[1] + at[1]) * size[2] + at[2];
              std::memcpy(to, from + static_cast<std::size_t>(pixel) * bytes, bytes);
            } else {
              std::memset(to, 0, bytes);
            }
          }
        }
      }
    }
  }
  return ok_status();
}

// --- glimpses --------------------------------------------------------------------------------------------------------

enum class Noise { kUniform, kGaussian, kZero };

Result<Noise> noise_kind(const AttrMap& attrs) {
  const std::string& name = attrs.get_string("noise");
  const bool uniform = attrs.get_bool("uniform_noise");
  if (uniform && name != "uniform") {
    return invalid_argument("The uniform_noise and noise could not be specified at the same time");
  }
  if (name == "uniform") return uniform ? Noise::kUniform : Noise::kGaussian;
  if (name == "gaussian") return Noise::kGaussian;
  if (name == "zero") return Noise::kZero;
  return invalid_argument("unknown noise: \"", name, "\"; uniform, gaussian and zero are known");
}

// Where a glimpse starts, given its offset, along an axis.
float glimpse_start(float offset, std::int64_t size, std::int64_t glimpse, bool centered, bool normalized, bool first) {
  const auto whole = static_cast<float>(size);
  float at = offset;
  if (first || normalized) {
    if (normalized) at *= whole;
    if (centered) at = at / 2.0f + whole / 2.0f;
    if (first || centered) at -= static_cast<float>(glimpse) / 2.0f;
  } else if (centered) {
    at += whole / 2.0f;
  }
  return at;
}

template <bool first>
Status glimpse(KernelContext& c, const AttrMap& attrs) {
  const Tensor& x = c.input(0);
  const Tensor& offsets = c.input(2);
  ARGOSY_RETURN_IF_ERROR(check_images(x, "ExtractGlimpse", false));
  ARGOSY_ASSIGN_OR_RETURN(const auto size, read_size(c.input(1), "ExtractGlimpse"));
  ARGOSY_ASSIGN_OR_RETURN(const Noise noise, noise_kind(attrs));
  if (offsets.shape() != Shape{x.shape()[0], 2}) {
    return invalid_argument("offsets should be [batch, 2], not ", offsets.shape(), " for images of ", x.shape());
  }
  const bool centered = attrs.get_bool("centered"), normalized = attrs.get_bool("normalized");
  const std::int64_t height = x.shape()[1], width = x.shape()[2], depth = x.shape()[3];
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape,
                          Shape::make(std::vector<std::int64_t>{x.shape()[0], size[0], size[1], depth}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  const std::int64_t each = size[0] * size[1] * depth, image = height * width * depth;
  if (shape.elements() == 0) return ok_status();
  std::fill_n(y->data<float>(), shape.elements(), 0.0f);
  if (noise != Noise::kZero) {
    RandomSource& chance = system_random_source();
    const Philox stream(chance.next(), chance.next());
    ARGOSY_RETURN_IF_ERROR(
        fill_random(*y, noise == Noise::kUniform ? Distribution::kUniform : Distribution::kNormal, stream));
  }
  for (std::int64_t b = 0; b < x.shape()[0]; ++b) {
    const float* const from = x.data<float>() + b * image;
    float* const to = y->data<float>() + b * each;
    if (noise != Noise::kZero && image > 0) {
      // Between the image's extremes, or with its mean and deviation.
      double sum = 0, squares = 0;
      for (std::int64_t i = 0; i < image; ++i) {
        sum += from[i];
        squares += static_cast<double>(from[i]) * from[i];
      }
      const auto [low, high] = std::minmax_element(from, from + image);
      const double mean = sum / static_cast<double>(image);
      const double deviation = std::sqrt(std::max(0.0, squares / static_cast<double>(image) - mean * mean));
      const auto shift = noise == Noise::kUniform ? *low : static_cast<float>(mean);
      const auto scale = noise == Noise::kUniform ? *high - *low : static_cast<float>(deviation);
      for (std::int64_t i = 0; i < each; ++i) to[i] = shift + to[i] * scale;
    }
    const auto start = [&](int k, std::int64_t whole, std::int64_t part) {
      const float at = glimpse_start(offsets.data<float>()[2 * b + k], whole, part, centered, normalized, first);
      return at == at ? static_cast<std::int64_t>(std::clamp(at, -1e9f, 1e9f)) : std::int64_t{-1000000000};
    };
    const std::int64_t top = start(0, height, size[0]), left = start(1, width, size[1]);
    for (std::int64_t r = 0; r < size[0]; ++r) {
      for (std::int64_t k = 0; k < size[1]; ++k) {
        const std::int64_t row = top + r, column = left + k;
        if (row < 0 || row >= height || column < 0 || column >= width) continue;
        std::copy_n(from + (row * width + column) * depth, depth, to + (r * size[1] + k) * depth);
      }
    }
  }
  return ok_status();
}

// --- RandomCrop ------------------------------------------------------------------------------------------------------

class RandomCrop final : public Kernel {
 public:
  RandomCrop(const KernelInit&, std::shared_ptr<SharedPhilox> stream) : stream_(std::move(stream)) {}
  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    if (x.shape().rank() != 3) return invalid_argument("RandomCrop: input must be 3-dimensional, not ", x.shape());
    if (c.input(1).shape() != Shape{2})
      return invalid_argument("RandomCrop: size has two numbers, not shape ", c.input(1).shape());
    const std::int64_t height = c.input(1).data<std::int64_t>()[0], width = c.input(1).data<std::int64_t>()[1];
    const std::int64_t depth = x.shape()[2];
    if (height < 0 || width < 0 || height > x.shape()[0] || width > x.shape()[1]) {
      return failed_precondition("RandomCrop: a window of ", height, " x ", width, " from an image of ", x.shape());
    }
    PhiloxWords random(stream_->reserve(1));
    const auto draw = [&](std::int64_t room) {
      return room > 0 ? static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(room + 1)) : 0;
    };
    const std::int64_t top = draw(x.shape()[0] - height), left = draw(x.shape()[1] - width);
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {height, width, depth}));
    const std::size_t pixel = static_cast<std::size_t>(depth) * element_bytes(x.dtype());
    const std::size_t line = static_cast<std::size_t>(width) * pixel;
    for (std::int64_t r = 0; line > 0 && r < height; ++r) {
      std::memcpy(static_cast<char*>(y->raw()) + static_cast<std::size_t>(r) * line,
                  static_cast<const char*>(x.raw()) + static_cast<std::size_t>((top + r) * x.shape()[1] + left) * pixel,
                  line);
    }
    return ok_status();
  }

 private:
  const std::shared_ptr<SharedPhilox> stream_;
};

}  // namespace

void add_kernels_cpu_patches(KernelRegistry& kernels) {
  kernels.add("ExtractImagePatches", "cpu", AttrKernel<windows<2>>::make);
  kernels.add("ExtractVolumePatches", "cpu", AttrKernel<windows<3>>::make);
  kernels.add("ExtractGlimpse", "cpu", AttrKernel<glimpse<true>>::make);
  kernels.add("ExtractGlimpseV2", "cpu", AttrKernel<glimpse<false>>::make);
  kernels.add("RandomCrop", "cpu", make_with_generator<RandomCrop>);
}

}  // namespace argosy::image
