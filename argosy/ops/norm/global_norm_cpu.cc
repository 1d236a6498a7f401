// Kernels: BatchNormWithGlobalNormalization and its gradient.
#include <cmath>

#include "argosy/ops/attr_kernel.h"
#include "argosy/ops/norm/norm_registration.h"

namespace argosy {

namespace {

// The sentences are TensorFlow's.
Status check_shapes(const KernelContext& c, std::initializer_list<std::pair<int, const char*>> vectors) {
  const Shape& image = c.input(0).shape();
  if (image.rank() != 4) return invalid_argument("input must be 4-dimensional", image);
  for (const auto& [i, name] : vectors) {
    const Shape& shape = c.input(i).shape();
    if (shape.rank() != 1) return invalid_argument(name, " must be 1-dimensional", shape);
    if (shape[0] != image[3]) {
      return invalid_argument("Must provide the same number of ", name, "s as the last dimension of the image: ", shape,
                              " for ", image);
    }
  }
  return ok_status();
}

template <typename T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

// 1 / sqrt(v + epsilon), by channel.
template <typename T>
std::vector<Wide<T>> inverse_deviations(const Tensor& v, float epsilon) {
  std::vector<Wide<T>> r;
  for (const T& x : v.values<T>()) r.push_back(1 / std::sqrt(static_cast<Wide<T>>(x) + static_cast<Wide<T>>(epsilon)));
  return r;
}

Status normalize(KernelContext& c, const AttrMap& attrs) {
  ARGOSY_RETURN_IF_ERROR(check_shapes(c, {{1, "mean"}, {2, "var"}, {3, "beta"}, {4, "gamma"}}));
  const Tensor& x = c.input(0);
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape(), {0}));
  return dispatch<FloatTypes>(x.dtype(), c.node(), [&]<typename T>() {
    using W = Wide<T>;
    const std::vector<W> inverse = inverse_deviations<T>(c.input(2), attrs.get_float("variance_epsilon"));
    const bool scaled = attrs.get_bool("scale_after_normalization");
    const auto channels = static_cast<std::int64_t>(inverse.size());
    const T *const m = c.input(1).data<T>(), *const beta = c.input(3).data<T>(), *const gamma = c.input(4).data<T>();
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      const std::int64_t k = i % channels;
      W z = (static_cast<W>(x.data<T>()[i]) - static_cast<W>(m[k])) * inverse[static_cast<std::size_t>(k)];
      if (scaled) z *= static_cast<W>(gamma[k]);
      y->data<T>()[i] = T(z + static_cast<W>(beta[k]));
    }
    return ok_status();
  });
}

Status normalize_gradient(KernelContext& c, const AttrMap& attrs) {
  ARGOSY_RETURN_IF_ERROR(check_shapes(c, {{1, "mean"}, {2, "var"}, {3, "gamma"}}));
  const Tensor &x = c.input(0), &flow = c.input(4);
  if (flow.shape() != x.shape()) {
    return invalid_argument("backprop must be of the input's shape: ", flow.shape(), " for ", x.shape());
  }
  const Shape vector({x.shape()[3]});
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const dx, c.output(0, x.shape()));
  Tensor* sums[4];  // of the mean, the variance, beta, gamma
  for (int i = 0; i < 4; ++i) {
    ARGOSY_ASSIGN_OR_RETURN(sums[i], c.output(i + 1, vector));
  }
  return dispatch<FloatTypes>(x.dtype(), c.node(), [&]<typename T>() {
    using W = Wide<T>;
    const std::vector<W> inverse = inverse_deviations<T>(c.input(2), attrs.get_float("variance_epsilon"));
    const bool scaled = attrs.get_bool("scale_after_normalization");
    const std::size_t channels = inverse.size();
    const T *const m = c.input(1).data<T>(), *const gamma = c.input(3).data<T>();
    std::vector<double> all(channels, 0), by_distance(channels, 0);
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      const std::size_t k = static_cast<std::size_t>(i) % channels;
      const W g = static_cast<W>(flow.data<T>()[i]);
      all[k] += g;
      by_distance[k] += g * (static_cast<W>(x.data<T>()[i]) - static_cast<W>(m[k]));
      dx->data<T>()[i] = T(g * inverse[k] * (scaled ? static_cast<W>(gamma[k]) : W(1)));
    }
    for (std::size_t k = 0; k < channels; ++k) {
      const double r = inverse[k], scale = scaled ? static_cast<double>(gamma[k]) : 1;
      sums[0]->data<T>()[k] = T(static_cast<W>(-all[k] * r * scale));
      sums[1]->data<T>()[k] = T(static_cast<W>(-0.5 * by_distance[k] * scale * r * r * r));
      sums[2]->data<T>()[k] = T(static_cast<W>(all[k]));
      sums[3]->data<T>()[k] = T(static_cast<W>(scaled ? by_distance[k] * r : 0));
    }
    return ok_status();
  });
}

}  // namespace

void add_kernels_cpu_global_norm(KernelRegistry& kernels) {
  kernels.add("BatchNormWithGlobalNormalization", "cpu", AttrKernel<normalize>::make);
  kernels.add("BatchNormWithGlobalNormalizationGrad", "cpu", AttrKernel<normalize_gradient>::make);
}

}  // namespace argosy
