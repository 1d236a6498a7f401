#include "argosy/train/model/initializers.h"

#include <cmath>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/random/random.h"

namespace argosy {

namespace {

struct Fans {
  double in = 1, out = 1;
};

Fans fans_of(const Shape& shape) {
  if (shape.rank() == 0) return {};
  if (shape.rank() == 1) return {static_cast<double>(shape[0]), static_cast<double>(shape[0])};
  double window = 1;
  for (int i = 0; i < shape.rank() - 2; ++i) window *= static_cast<double>(shape[i]);
  return {window * static_cast<double>(shape[shape.rank() - 2]), window * static_cast<double>(shape.back())};
}

std::vector<std::int64_t> sizes(const Shape& shape) { return {shape.sizes().begin(), shape.sizes().end()}; }

// A normal distribution cut at two deviations has 0.8796 of its deviation left.
constexpr double kTruncatedDeviation = 0.87962566103423978;

// `variance_of` gives the variance wanted for the fans.
Initializer truncated_of_variance(double (*variance_of)(const Fans&)) {
  return [variance_of](Graph& graph, const Shape& shape, DType dtype, std::int64_t seed) {
    const double stddev = std::sqrt(variance_of(fans_of(shape))) / kTruncatedDeviation;
    return truncated_normal(graph, sizes(shape), 0, stddev, {.dtype = dtype, .seed = seed});
  };
}

}  // namespace

Initializer constant_initializer(double value) {
  return [value](Graph& graph, const Shape& shape, DType dtype, std::int64_t) {
    const Value one =
        constant_like(graph.add("Const", {}, {{"value", Tensor::zeros(dtype, {})}, {"dtype", dtype}}), value);
    return graph.add("Fill", {constant(graph, Tensor::vector(sizes(shape))), one});
  };
}

Initializer zeros_initializer() { return constant_initializer(0); }
Initializer ones_initializer() { return constant_initializer(1); }

Initializer uniform_initializer(double low, double high) {
  return [=](Graph& graph, const Shape& shape, DType dtype, std::int64_t seed) {
    return random_uniform(graph, sizes(shape), low, high, {.dtype = dtype, .seed = seed});
  };
}

Initializer normal_initializer(double stddev, double mean) {
  return [=](Graph& graph, const Shape& shape, DType dtype, std::int64_t seed) {
    return random_normal(graph, sizes(shape), mean, stddev, {.dtype = dtype, .seed = seed});
  };
}

Initializer truncated_normal_initializer(double stddev, double mean) {
  return [=](Graph& graph, const Shape& shape, DType dtype, std::int64_t seed) {
    return truncated_normal(graph, sizes(shape), mean, stddev, {.dtype = dtype, .seed = seed});
  };
}

Initializer glorot_uniform() {
  return [](Graph& graph, const Shape& shape, DType dtype, std::int64_t seed) {
    const Fans fans = fans_of(shape);
    const double limit = std::sqrt(6.0 / (fans.in + fans.out));
    return random_uniform(graph, sizes(shape), -limit, limit, {.dtype = dtype, .seed = seed});
  };
}

Initializer glorot_normal() {
  return truncated_of_variance([](const Fans& fans) { return 2.0 / (fans.in + fans.out); });
}
Initializer he_normal() {
  return truncated_of_variance([](const Fans& fans) { return 2.0 / fans.in; });
}
Initializer lecun_normal() {
  return truncated_of_variance([](const Fans& fans) { return 1.0 / fans.in; });
}

}  // namespace argosy
