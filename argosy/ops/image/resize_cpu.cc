// Kernels of the resizing ops. Every kind is separable: a pixel is a weighted sum of a few rows and columns. Sources of
// the rules (which pixels, which weights): TensorFlow's documentation of its image ops, and its results.
#include <algorithm>
#include <cmath>

#include "argosy/base/threads/parallel.h"
#include "argosy/ops/attr_kernel.h"
#include "argosy/ops/image/image_checks.h"
#include "argosy/ops/image/image_registration.h"

namespace argosy::image {

namespace {

struct Rule {
  explicit Rule(const AttrMap& attrs)
      : corners(attrs.get_bool("align_corners")), centers(attrs.get_or<bool>("half_pixel_centers", false)) {}
  Status check() const {
    return corners && centers ? invalid_argument("If half_pixel_centers is True, align_corners must be False.")
                              : ok_status();
  }
  // Source pixels per target pixel.
  float scale(std::int64_t from, std::int64_t to) const {
    return corners && to > 1 ? static_cast<float>(from - 1) / static_cast<float>(to - 1)
                             : static_cast<float>(from) / static_cast<float>(to);
  }
  // Returns the position of target pixel i in the source.
  float place(std::int64_t i, float scale) const {
    const auto at = static_cast<float>(i);
    return centers ? (at + 0.5f) * scale - 0.5f : at * scale;
  }

  bool corners, centers;
};

// One target row (or column): up to four source rows and their weights.
struct Taps {
  std::int64_t at[4];
  float weight[4];
};
using Plan = std::vector<Taps>;

Plan bilinear_plan(const Rule& rule, std::int64_t from, std::int64_t to) {
  Plan plan(static_cast<std::size_t>(to));
  const float scale = rule.scale(from, to);
  for (std::int64_t i = 0; i < to; ++i) {
    const float place = rule.place(i, scale), below = std::floor(place);
    const std::int64_t low = std::clamp<std::int64_t>(static_cast<std::int64_t>(below), 0, from - 1);
    const std::int64_t high = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(place)), 0, from - 1);
    plan[static_cast<std::size_t>(i)] = {{low, high, 0, 0}, {1 - (place - below), place - below, 0, 0}};
  }
  return plan;
}

// Cubic convolution from a table of 1024 steps, as TensorFlow has it: Keys, "Cubic convolution interpolation for
// digital image processing" (1981), with -0.75 where pixels are points, and -0.5 and no weight beyond the edge where
// they are areas.
Plan bicubic_plan(const Rule& rule, std::int64_t from, std::int64_t to) {
  constexpr int kSteps = 1024;
  const float a = rule.centers ? -0.5f : -0.75f;
  const auto near = [&](int step) {
    const float x = static_cast<float>(step) / kSteps;
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  };
  const auto far = [&](int step) {
    const float x = static_cast<float>(step) / kSteps + 1.0f;
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  };
  Plan plan(static_cast<std::size_t>(to));
  const float scale = rule.scale(from, to);
  for (std::int64_t i = 0; i < to; ++i) {
    const float place = rule.place(i, scale), below = std::floor(place);
    const auto low = static_cast<std::int64_t>(below);
    const auto step = static_cast<int>(std::lrint((place - below) * kSteps));
    Taps taps{{}, {far(step), near(step), near(kSteps - step), far(kSteps - step)}};
    float sum = 0;
    for (int k = 0; k < 4; ++k) {
      taps.at[k] = std::clamp<std::int64_t>(low - 1 + k, 0, from - 1);
      if (rule.centers && taps.at[k] != low - 1 + k) taps.weight[k] = 0;
      sum += taps.weight[k];
    }
    if (rule.centers && std::abs(sum) >= 1000.0f * std::numeric_limits<float>::min()) {
      for (float& w : taps.weight) w *= 1.0f / sum;
    }
    plan[static_cast<std::size_t>(i)] = taps;
  }
  return plan;
}

using Planner = Plan (*)(const Rule&, std::int64_t, std::int64_t);

struct Sizes {
  std::int64_t batch, height, width, channels;
};
Sizes sizes_of(const Shape& s) { return {s[0], s[1], s[2], s[3]}; }
std::int64_t grain(std::int64_t per_row) {
  return std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, per_row));
}

template <typename T>
float load(const T* from) {
  return static_cast<float>(*from);
}

template <Planner planner, int taps>
Status resize(KernelContext& c, const AttrMap& attrs) {
  const Rule rule(attrs);
  ARGOSY_RETURN_IF_ERROR(rule.check());
  const Tensor& x = c.input(0);
  ARGOSY_RETURN_IF_ERROR(check_images(x, "resize"));
  ARGOSY_ASSIGN_OR_RETURN(const auto size, read_size(c.input(1), "resize"));
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape,
                          Shape::make(std::vector<std::int64_t>{x.shape()[0], size[0], size[1], x.shape()[3]}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  const Sizes in = sizes_of(x.shape());
  if (shape.elements() == 0) return ok_status();
  const Plan rows = planner(rule, in.height, size[0]), columns = planner(rule, in.width, size[1]);
  const std::int64_t line = in.width * in.channels;
  return dispatch<RealTypes>(x.dtype(), "resize", [&]<typename T>() {
    parallel_for(in.batch * size[0], grain(size[1] * in.channels * taps * taps),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t r = begin; r < end; ++r) {
                     const Taps& row = rows[static_cast<std::size_t>(r % size[0])];
                     const T* const image = x.data<T>() + r / size[0] * in.height * line;
                     float* to = y->data<float>() + r * size[1] * in.channels;
                     for (const Taps& column : columns) {
                       for (std::int64_t ch = 0; ch < in.channels; ++ch) {
                         float sums[taps];
                         for (int k = 0; k < taps; ++k) {
                           const T* const from = image + row.at[k] * line + ch;
                           if constexpr (taps == 2) {
                             const float low = load(from + column.at[0] * in.channels),
                                         high = load(from + column.at[1] * in.channels);
                             sums[k] = low + (high - low) * column.weight[1];
                           } else {
                             float sum = 0;
                             for (int l = 0; l < taps; ++l)
                               sum += column.weight[l] * load(from + column.at[l] * in.channels);
                             sums[k] = sum;
                           }
                         }
                         if constexpr (taps == 2) {
                           *to++ = sums[0] + (sums[1] - sums[0]) * row.weight[1];
                         } else {
                           float sum = 0;
                           for (int k = 0; k < taps; ++k) sum += row.weight[k] * sums[k];
                           *to++ = sum;
                         }
                       }
                     }
                   }
                 });
    return ok_status();
  });
}

// The gradient: the weights of the forward pass; sums in double, one image at a time.
template <Planner planner, int taps>
Status resize_grad(KernelContext& c, const AttrMap& attrs) {
  const Rule rule(attrs);
  ARGOSY_RETURN_IF_ERROR(rule.check());
  const Tensor& dy = c.input(0);
  const Tensor& x = c.input(1);
  ARGOSY_RETURN_IF_ERROR(check_images(dy, "resize gradient"));
  ARGOSY_RETURN_IF_ERROR(check_images(x, "resize gradient"));
  const Sizes in = sizes_of(x.shape()), out = sizes_of(dy.shape());
  if (in.batch != out.batch || in.channels != out.channels) {
    return invalid_argument("resize gradient: ", dy.shape(), " does not come from images of ", x.shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const dx, c.output(0, x.shape()));
  if (dx->elements() == 0) return ok_status();
  const Plan rows = planner(rule, in.height, out.height), columns = planner(rule, in.width, out.width);
  std::vector<double> sums(static_cast<std::size_t>(in.height * in.width * in.channels));
  return dispatch<FloatTypes>(dx->dtype(), "resize gradient", [&]<typename T>() {
    const float* from = dy.data<float>();
    T* to = dx->data<T>();
    for (std::int64_t b = 0; b < in.batch; ++b) {
      std::fill(sums.begin(), sums.end(), 0.0);
      for (const Taps& row : rows) {
        for (const Taps& column : columns) {
          for (std::int64_t ch = 0; ch < in.channels; ++ch) {
            const double d = *from++;
            for (int k = 0; k < taps; ++k) {
              for (int l = 0; l < taps; ++l) {
                sums[static_cast<std::size_t>((row.at[k] * in.width + column.at[l]) * in.channels + ch)] +=
                    d * row.weight[k] * column.weight[l];
              }
            }
          }
        }
      }
      for (const double sum : sums)
        *to++ = T(static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(sum));
    }
    return ok_status();
  });
}

// --- nearest ---------------------------------------------------------------------------------------------------------

std::vector<std::int64_t> nearest_plan(const Rule& rule, std::int64_t from, std::int64_t to) {
  std::vector<std::int64_t> plan(static_cast<std::size_t>(to));
  const float scale = rule.scale(from, to);
  for (std::int64_t i = 0; i < to; ++i) {
    const float place = (static_cast<float>(i) + (rule.centers ? 0.5f : 0.0f)) * scale;
    const float whole = rule.corners ? std::round(place) : std::floor(place);
    plan[static_cast<std::size_t>(i)] = std::clamp<std::int64_t>(static_cast<std::int64_t>(whole), 0, from - 1);
  }
  return plan;
}

Status nearest(KernelContext& c, const AttrMap& attrs) {
  const Rule rule(attrs);
  ARGOSY_RETURN_IF_ERROR(rule.check());
  const Tensor& x = c.input(0);
  ARGOSY_RETURN_IF_ERROR(check_images(x, "ResizeNearestNeighbor"));
  ARGOSY_ASSIGN_OR_RETURN(const auto size, read_size(c.input(1), "ResizeNearestNeighbor"));
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape,
                          Shape::make(std::vector<std::int64_t>{x.shape()[0], size[0], size[1], x.shape()[3]}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  const Sizes in = sizes_of(x.shape());
  if (shape.elements() == 0) return ok_status();
  const auto rows = nearest_plan(rule, in.height, size[0]), columns = nearest_plan(rule, in.width, size[1]);
  return dispatch_size(x.dtype(), "ResizeNearestNeighbor", [&]<typename T>() {
    parallel_for(in.batch * size[0], grain(size[1] * in.channels), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        const std::int64_t row = r / size[0] * in.height + rows[static_cast<std::size_t>(r % size[0])];
        const T* const from = x.raw_as<T>() + row * in.width * in.channels;
        T* to = y->raw_as<T>() + r * size[1] * in.channels;
        for (const std::int64_t column : columns) to = std::copy_n(from + column * in.channels, in.channels, to);
      }
    });
    return ok_status();
  });
}

Status nearest_grad(KernelContext& c, const AttrMap& attrs) {
  const Rule rule(attrs);
  ARGOSY_RETURN_IF_ERROR(rule.check());
  const Tensor& dy = c.input(0);
  ARGOSY_RETURN_IF_ERROR(check_images(dy, "ResizeNearestNeighborGrad"));
  ARGOSY_ASSIGN_OR_RETURN(const auto size, read_size(c.input(1), "ResizeNearestNeighborGrad"));
  const Sizes out = sizes_of(dy.shape());
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape,
                          Shape::make(std::vector<std::int64_t>{out.batch, size[0], size[1], out.channels}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const dx, c.output(0, shape));
  if (dx->elements() == 0) return ok_status();
  const auto rows = nearest_plan(rule, size[0], out.height), columns = nearest_plan(rule, size[1], out.width);
  return dispatch<RealTypes>(dy.dtype(), "ResizeNearestNeighborGrad", [&]<typename T>() {
    using S = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;
    std::vector<S> sums(static_cast<std::size_t>(size[0] * size[1] * out.channels));
    const T* from = dy.data<T>();
    T* to = dx->data<T>();
    for (std::int64_t b = 0; b < out.batch; ++b) {
      std::fill(sums.begin(), sums.end(), S(0));
      for (const std::int64_t row : rows) {
        for (const std::int64_t column : columns) {
          S* const at = sums.data() + (row * size[1] + column) * out.channels;
          for (std::int64_t ch = 0; ch < out.channels; ++ch) {
            if constexpr (std::is_integral_v<T> || std::is_same_v<T, double>) {
              at[ch] += static_cast<S>(*from++);
            } else {
              at[ch] += static_cast<S>(static_cast<float>(*from++));
            }
          }
        }
      }
      for (const S sum : sums) {
        if constexpr (std::is_integral_v<T> || std::is_same_v<T, double>) {
          *to++ = static_cast<T>(sum);
        } else {
          *to++ = T(static_cast<float>(sum));
        }
      }
    }
    return ok_status();
  });
}

// --- area ------------------------------------------------------------------------------------------------------------

// The source pixels that a target pixel covers, and how much of each.
struct Cover {
  std::vector<std::pair<std::int64_t, float>> parts;
};
std::vector<Cover> area_plan(const Rule& rule, std::int64_t from, std::int64_t to) {
  std::vector<Cover> plan(static_cast<std::size_t>(to));
  const float scale = rule.scale(from, to);
  for (std::int64_t i = 0; i < to; ++i) {
    if (scale == 0) {  // one pixel, with its corners aligned: there is nothing else to cover
      plan[static_cast<std::size_t>(i)].parts.emplace_back(0, 1.0f);
      continue;
    }
    const float begin = static_cast<float>(i) * scale, end = static_cast<float>(i + 1) * scale;
    const auto first = static_cast<std::int64_t>(std::floor(begin)), last = static_cast<std::int64_t>(std::ceil(end));
    for (std::int64_t k = first; k < last; ++k) {
      const auto low = static_cast<float>(k), high = static_cast<float>(k + 1);
      const float part = low < begin ? (high > end ? scale : high - begin) : (high > end ? end - low : 1.0f);
      plan[static_cast<std::size_t>(i)].parts.emplace_back(std::clamp<std::int64_t>(k, 0, from - 1), part);
    }
  }
  return plan;
}

Status area(KernelContext& c, const AttrMap& attrs) {
  const Rule rule(attrs);
  const Tensor& x = c.input(0);
  ARGOSY_RETURN_IF_ERROR(check_images(x, "ResizeArea"));
  ARGOSY_ASSIGN_OR_RETURN(const auto size, read_size(c.input(1), "ResizeArea"));
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape,
                          Shape::make(std::vector<std::int64_t>{x.shape()[0], size[0], size[1], x.shape()[3]}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  const Sizes in = sizes_of(x.shape());
  if (shape.elements() == 0) return ok_status();
  const auto rows = area_plan(rule, in.height, size[0]), columns = area_plan(rule, in.width, size[1]);
  const auto covered = [&](std::int64_t from, std::int64_t to) {
    const float scale = rule.scale(from, to);
    return scale == 0 ? 1.0f : scale;
  };
  const float all = 1.0f / (covered(in.height, size[0]) * covered(in.width, size[1]));
  return dispatch<RealTypes>(x.dtype(), "ResizeArea", [&]<typename T>() {
    parallel_for(in.batch * size[0], grain(in.width * in.channels), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        const T* const image = x.data<T>() + r / size[0] * in.height * in.width * in.channels;
        float* to = y->data<float>() + r * size[1] * in.channels;
        for (const Cover& column : columns) {
          for (std::int64_t ch = 0; ch < in.channels; ++ch) {
            float sum = 0;
            for (const auto& [row, part] : rows[static_cast<std::size_t>(r % size[0])].parts) {
              float along = 0;
              for (const auto& [at, share] : column.parts) {
                along += load(image + (row * in.width + at) * in.channels + ch) * share;
              }
              sum += along * part;
            }
            *to++ = sum * all;
          }
        }
      }
    });
    return ok_status();
  });
}

}  // namespace

void add_kernels_cpu_resize(KernelRegistry& kernels) {
  kernels.add("ResizeBilinear", "cpu", AttrKernel<resize<bilinear_plan, 2>>::make);
  kernels.add("ResizeBilinearGrad", "cpu", AttrKernel<resize_grad<bilinear_plan, 2>>::make);
  kernels.add("ResizeBicubic", "cpu", AttrKernel<resize<bicubic_plan, 4>>::make);
  kernels.add("ResizeBicubicGrad", "cpu", AttrKernel<resize_grad<bicubic_plan, 4>>::make);
  kernels.add("ResizeNearestNeighbor", "cpu", AttrKernel<nearest>::make);
  kernels.add("ResizeNearestNeighborGrad", "cpu", AttrKernel<nearest_grad>::make);
  kernels.add("ResizeArea", "cpu", AttrKernel<area>::make);
}

}  // namespace argosy::image
