// Kernels of ScaleAndTranslate: each pixel is a sum of source pixels, weighted by a kernel.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "argosy/ops/attr_kernel.h"
#include "argosy/ops/image/image_checks.h"
#include "argosy/ops/image/image_registration.h"

namespace argosy::image {

namespace {

using Function = float (*)(float);  // of the distance, >= 0
struct Filter {
  std::string_view name;
  float radius;
  Function weight;
};

template <int radius>
float lanczos(float x) {
  if (x > radius) return 0;
  if (x <= 1e-3f) return 1;
  constexpr float kPi = std::numbers::pi_v<float>;
  return radius * std::sin(kPi * x) * std::sin(kPi * x / radius) / (kPi * kPi * x * x);
}
float gaussian(float x) { return x >= 1.5f ? 0 : std::exp(-x * x / (2 * 0.5f * 0.5f)); }
float box(float x) { return x < 0.5f ? 1.0f : x == 0.5f ? 0.5f : 0.0f; }
float triangle(float x) { return x < 1 ? 1 - x : 0; }
float keys_cubic(float x) {
  if (x >= 2) return 0;
  return x >= 1 ? ((-0.5f * x + 2.5f) * x - 4) * x + 2 : ((1.5f * x - 2.5f) * x) * x + 1;
}
float mitchell_cubic(float x) {
  if (x >= 2) return 0;
  return x >= 1 ? ((-7.0f / 18 * x + 2) * x - 10.0f / 3) * x + 16.0f / 9 : ((7.0f / 6 * x - 2) * x) * x + 8.0f / 9;
}

constexpr Filter kFilters[] = {{"lanczos1", 1, lanczos<1>},
                               {"lanczos3", 3, lanczos<3>},
                               {"lanczos5", 5, lanczos<5>},
                               {"gaussian", 1.5, gaussian},
                               {"box", 1, box},
                               {"triangle", 1, triangle},
                               {"keyscubic", 2, keys_cubic},
                               {"mitchellcubic", 2, mitchell_cubic}};

// The source pixels of one target pixel, from `begin` on.
struct Span {
  std::int64_t begin = 0;
  std::vector<float> weights = {};
};

std::vector<Span> make_spans(const Filter& filter, bool antialias, std::int64_t from, std::int64_t to, float scale,
                             float move) {
  std::vector<Span> spans(static_cast<std::size_t>(to));
  const float inverse = 1.0f / scale, inverse_move = -inverse * move;
  const float stretch = antialias ? std::max(inverse, 1.0f) : 1.0f;
  const float reach = filter.radius * stretch;
  const auto last = static_cast<double>(from - 1);
  for (std::int64_t i = 0; i < to; ++i) {
    const float place = (static_cast<float>(i) + 0.5f) * inverse + inverse_move;
    if (!(place >= 0) || place > static_cast<float>(from)) continue;
    const auto begin = static_cast<std::int64_t>(std::clamp<double>(std::ceil(place - reach - 0.5f), 0, last));
    const auto end = static_cast<std::int64_t>(std::clamp<double>(std::floor(place + reach - 0.5f), 0, last)) + 1;
    Span& span = spans[static_cast<std::size_t>(i)];
    span.begin = begin;
    float sum = 0;
    for (std::int64_t k = begin; k < end; ++k) {
      span.weights.push_back(filter.weight(std::abs((static_cast<float>(k) + 0.5f - place) / stretch)));
      sum += span.weights.back();
    }
    if (std::abs(sum) < 1000.0f * std::numeric_limits<float>::min()) {
      span.weights.clear();
    } else {
      for (float& w : span.weights) w *= 1.0f / sum;
    }
  }
  return spans;
}

// The checked attributes and inputs of both kernels. The tensors must outlive it.
struct Scaling {
  const Filter& filter;
  bool antialias;
  const float* scale;
  const float* move;
};
Result<Scaling> read_scaling(const AttrMap& attrs, const Tensor& scale, const Tensor& move) {
  const std::string& name = attrs.get_string("kernel_type");
  const auto* filter =
      std::find_if(std::begin(kFilters), std::end(kFilters), [&](const Filter& f) { return f.name == name; });
  if (filter == std::end(kFilters)) return invalid_argument("Unrecognized kernel type: ", name);
  if (scale.shape() != Shape{2} || move.shape() != Shape{2}) {
    return invalid_argument("scale and translation are vectors of two, not of shapes ", scale.shape(), " and ",
                            move.shape());
  }
  const float* const s = scale.data<float>();
  if (!(s[0] > 0) || !(s[1] > 0)) return invalid_argument("scale must be greater than zero, not ", s[0], " and ", s[1]);
  return Scaling{*filter, attrs.get_bool("antialias"), s, move.data<float>()};
}

struct Spans {
  std::vector<Span> rows, columns;
};
Spans make_spans(const Scaling& s, const Shape& from, std::int64_t height, std::int64_t width) {
  return {make_spans(s.filter, s.antialias, from[1], height, s.scale[0], s.move[0]),
          make_spans(s.filter, s.antialias, from[2], width, s.scale[1], s.move[1])};
}

Status scale_and_translate(KernelContext& c, const AttrMap& attrs) {
  const Tensor& x = c.input(0);
  ARGOSY_RETURN_IF_ERROR(check_images(x, "ScaleAndTranslate"));
  ARGOSY_ASSIGN_OR_RETURN(const auto size, read_size(c.input(1), "ScaleAndTranslate"));
  ARGOSY_ASSIGN_OR_RETURN(const Scaling scaling, read_scaling(attrs, c.input(2), c.input(3)));
  const std::int64_t height = x.shape()[1], width = x.shape()[2], channels = x.shape()[3];
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape,
                          Shape::make(std::vector<std::int64_t>{x.shape()[0], size[0], size[1], channels}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  if (shape.elements() == 0) return ok_status();
  const Spans spans = make_spans(scaling, x.shape(), size[0], size[1]);
  std::vector<float> line(static_cast<std::size_t>(width * channels));  // rows already summed
  return dispatch<RealTypes>(x.dtype(), "ScaleAndTranslate", [&]<typename T>() {
    float* to = y->data<float>();
    for (std::int64_t b = 0; b < x.shape()[0]; ++b) {
      const T* const image = x.data<T>() + b * height * width * channels;
      for (const Span& row : spans.rows) {
        std::fill(line.begin(), line.end(), 0.0f);
        for (std::size_t k = 0; k < row.weights.size(); ++k) {
          const T* const from = image + (row.begin + static_cast<std::int64_t>(k)) * width * channels;
          for (std::size_t i = 0; i < line.size(); ++i) line[i] += row.weights[k] * static_cast<float>(from[i]);
        }
        for (const Span& column : spans.columns) {
          for (std::int64_t ch = 0; ch < channels; ++ch) {
            float sum = 0;
            for (std::size_t k = 0; k < column.weights.size(); ++k) {
              const std::int64_t at = (column.begin + static_cast<std::int64_t>(k)) * channels + ch;
              sum += column.weights[k] * line[static_cast<std::size_t>(at)];
            }
            *to++ = sum;
          }
        }
      }
    }
    return ok_status();
  });
}

Status scale_and_translate_grad(KernelContext& c, const AttrMap& attrs) {
  const Tensor& dy = c.input(0);
  const Tensor& x = c.input(1);
  ARGOSY_RETURN_IF_ERROR(check_images(dy, "ScaleAndTranslateGrad"));
  ARGOSY_RETURN_IF_ERROR(check_images(x, "ScaleAndTranslateGrad"));
  const std::int64_t width = x.shape()[2], channels = x.shape()[3];
  if (dy.shape()[0] != x.shape()[0] || dy.shape()[3] != channels) {
    return invalid_argument("ScaleAndTranslateGrad: ", dy.shape(), " does not come from images of ", x.shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(const Scaling scaling, read_scaling(attrs, c.input(2), c.input(3)));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const dx, c.output(0, x.shape()));
  if (dx->elements() == 0) return ok_status();
  const Spans spans = make_spans(scaling, x.shape(), dy.shape()[1], dy.shape()[2]);
  std::vector<double> sums(static_cast<std::size_t>(x.elements()));
  const float* from = dy.data<float>();
  for (std::int64_t b = 0; b < x.shape()[0]; ++b) {
    double* const image = sums.data() + b * x.shape()[1] * width * channels;
    for (const Span& row : spans.rows) {
      for (const Span& column : spans.columns) {
        for (std::int64_t ch = 0; ch < channels; ++ch) {
          const double d = *from++;
          for (std::size_t k = 0; k < row.weights.size(); ++k) {
            double* const line =
                image + ((row.begin + static_cast<std::int64_t>(k)) * width + column.begin) * channels + ch;
            for (std::size_t l = 0; l < column.weights.size(); ++l) {
              line[static_cast<std::int64_t>(l) * channels] += d * row.weights[k] * column.weights[l];
            }
          }
        }
      }
    }
  }
  std::transform(sums.begin(), sums.end(), dx->data<float>(), [](double v) { return static_cast<float>(v); });
  return ok_status();
}

}  // namespace

void add_kernels_cpu_scale(KernelRegistry& kernels) {
  kernels.add("ScaleAndTranslate", "cpu", AttrKernel<scale_and_translate>::make);
  kernels.add("ScaleAndTranslateGrad", "cpu", AttrKernel<scale_and_translate_grad>::make);
}

}  // namespace argosy::image
