// Kernels of ImageProjectiveTransform. Eight numbers t map a target pixel (x, y) to a source pixel:
//
//     ((t0 x + t1 y + t2) / k, (t3 x + t4 y + t5) / k)     k = t6 x + t7 y + 1
#include <cmath>

#include "argosy/base/threads/parallel.h"
#include "argosy/ops/attr_kernel.h"
#include "argosy/ops/image/image_checks.h"
#include "argosy/ops/image/image_registration.h"

namespace argosy::image {

namespace {

enum class Beyond { kReflect, kWrap, kConstant, kNearest };

// Maps a position beyond an axis of this length back into it, by the fill mode.
float bring_back(Beyond how, float at, std::int64_t length) {
  const auto size = static_cast<float>(length);
  if (how == Beyond::kConstant) return at;
  const auto within = [&](float v) { return std::min(std::max(v, 0.0f), size - 1); };
  if (how == Beyond::kNearest) return within(at);
  const bool reflect = how == Beyond::kReflect;
  if (at < 0) {
    if (length <= 1) return 0;
    if (!reflect) return within(at + size * (std::floor(-at / (size - 1)) + 1));
    const float twice = 2 * size;
    if (at < twice) at = twice * std::floor(-at / twice) + at;
    at = at < -size ? at + twice : -at - 1;
  } else if (at > size - 1) {
    if (length <= 1) return 0;
    if (!reflect) return within(at - size * std::floor(at / (size - 1)));
    const float twice = 2 * size;
    at -= twice * std::floor(at / twice);
    if (at >= size) at = twice - at - 1;
  }
  return within(at);
}

template <typename T>
struct Image {
  const T* pixels;
  std::int64_t height, width, depth;
  T fill;

  T at(float row, float column, std::int64_t ch) const {
    if (!(row >= 0) || !(column >= 0) || row >= static_cast<float>(height) || column >= static_cast<float>(width)) {
      return fill;
    }
    return pixels[(static_cast<std::int64_t>(row) * width + static_cast<std::int64_t>(column)) * depth + ch];
  }
};

template <typename T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <typename T>
T between(const Image<T>& from, float row, float column, std::int64_t ch) {
  using S = Wide<T>;
  const float top = std::floor(row), left = std::floor(column), bottom = top + 1, right = left + 1;
  const auto value = [&](float r, float k) { return static_cast<S>(from.at(r, k, ch)); };
  const S upper = static_cast<S>(right - column) * value(top, left) + static_cast<S>(column - left) * value(top, right);
  const S lower =
      static_cast<S>(right - column) * value(bottom, left) + static_cast<S>(column - left) * value(bottom, right);
  return T(static_cast<S>(bottom - row) * upper + static_cast<S>(row - top) * lower);
}

Status transform(KernelContext& c, const AttrMap& attrs) {
  const Tensor& x = c.input(0);
  const Tensor& t = c.input(1);
  ARGOSY_RETURN_IF_ERROR(check_images(x, "ImageProjectiveTransform", false));
  const std::string& interpolation = attrs.get_string("interpolation");
  if (interpolation != "NEAREST" && interpolation != "BILINEAR") {
    return invalid_argument("Invalid interpolation ", interpolation, ". Supported types: NEAREST, BILINEAR");
  }
  const std::string& mode = attrs.get_string("fill_mode");
  const Beyond beyond = mode == "REFLECT"    ? Beyond::kReflect
                        : mode == "WRAP"     ? Beyond::kWrap
                        : mode == "CONSTANT" ? Beyond::kConstant
                                             : Beyond::kNearest;
  if (beyond == Beyond::kNearest && mode != "NEAREST") {
    return invalid_argument("Invalid mode ", mode, ". Supported types: REFLECT, WRAP, CONSTANT, NEAREST");
  }
  const std::int64_t batch = x.shape()[0];
  if (t.shape().rank() != 2 || t.shape()[1] != 8 || (t.shape()[0] != batch && t.shape()[0] != 1)) {
    return invalid_argument("Input transform should be num_images x 8 or 1 x 8, not ", t.shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(const auto size, read_size(c.input(2), "ImageProjectiveTransform"));
  float fill = 0;
  if (c.num_inputs() > 3) {
    if (c.input(3).shape().rank() != 0)
      return invalid_argument("fill_value must be a scalar, not of shape ", c.input(3).shape());
    fill = *c.input(3).data<float>();
  }
  const std::int64_t depth = x.shape()[3];
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(std::vector<std::int64_t>{batch, size[0], size[1], depth}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  if (shape.elements() == 0) return ok_status();
  const bool nearest = interpolation == "NEAREST";
  using Types = TypeList<std::uint8_t, std::int32_t, std::int64_t, float16, bfloat16, float, double>;
  return dispatch<Types>(x.dtype(), "ImageProjectiveTransform", [&]<typename T>() {
    parallel_for(batch * size[0], 64, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t line = begin; line < end; ++line) {
        const std::int64_t b = line / size[0];
        const auto row = static_cast<float>(line % size[0]);
        const float* const m = t.data<float>() + (t.shape()[0] == 1 ? 0 : 8 * b);
        const Image<T> from{x.data<T>() + b * x.shape()[1] * x.shape()[2] * depth, x.shape()[1], x.shape()[2], depth,
                            T(fill)};
        T* to = y->data<T>() + line * size[1] * depth;
        for (std::int64_t k = 0; k < size[1]; ++k, to += depth) {
          const auto column = static_cast<float>(k);
          const float distance = m[6] * column + m[7] * row + 1.0f;
          if (distance == 0) {
            std::fill_n(to, depth, T(fill));
            continue;
          }
          const float at_x = bring_back(beyond, (m[0] * column + m[1] * row + m[2]) / distance, from.width);
          const float at_y = bring_back(beyond, (m[3] * column + m[4] * row + m[5]) / distance, from.height);
          for (std::int64_t ch = 0; ch < depth; ++ch) {
            to[ch] = nearest ? from.at(std::round(at_y), std::round(at_x), ch) : between(from, at_y, at_x, ch);
          }
        }
      }
    });
    return ok_status();
  });
}

}  // namespace

void add_kernels_cpu_projective(KernelRegistry& kernels) {
  kernels.add("ImageProjectiveTransformV2", "cpu", AttrKernel<transform>::make);
  kernels.add("ImageProjectiveTransformV3", "cpu", AttrKernel<transform>::make);
}

}  // namespace argosy::image
