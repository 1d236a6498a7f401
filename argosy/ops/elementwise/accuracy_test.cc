// Vector functions over the whole number line, against the standard library in double.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "argosy/ops/evaluate.h"
#include "argosy/ops/ops.h"

namespace argosy {
namespace {

// Every `step`-th bit pattern of float32, NaN and infinities among them.
Tensor number_line(std::uint64_t step) {
  std::vector<float> numbers;
  for (std::uint64_t bits = 0; bits < (1ull << 32); bits += step) {
    numbers.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  for (const float f : {0.0f, -0.0f, 1.0f, -1.0f, std::numeric_limits<float>::infinity(),
                        -std::numeric_limits<float>::infinity(), 88.7f, -87.4f, -104.0f}) {
    numbers.push_back(f);
  }
  return Tensor::vector(numbers);
}

// Distance in units of the last place of the exact result.
double ulps(float got, double exact) {
  const auto rounded = static_cast<float>(exact);
  if (std::isnan(rounded)) return std::isnan(got) ? 0 : 1e9;
  if (std::isinf(rounded) || std::isnan(got) || std::isinf(got)) return got == rounded ? 0 : 1e9;
  // What is too small for a normal number may be flushed to zero.
  const float size = std::max(std::abs(rounded), std::numeric_limits<float>::min());
  if (size > std::abs(exact) && std::abs(got) < size) return 0;
  const double unit = std::nextafter(size, 2 * size) - static_cast<double>(size);
  return std::abs(got - exact) / unit;
}

struct Function {
  const char* op;
  double (*exact)(double);
  double most;  // ulps
};

TEST(Accuracy, OfVectorFunctionsOnTheWholeNumberLine) {
  const Tensor x = number_line(30011);
  for (const Function& f : {Function{"Exp", std::exp, 1},
                            {"Expm1", std::expm1, 4},
                            {"Log", std::log, 1},
                            {"Log1p", std::log1p, 2.5},
                            {"Sin", std::sin, 2},
                            {"Cos", std::cos, 2.1},
                            {"Tanh", std::tanh, 1.6},
                            {"Sinh", std::sinh, 3.2},
                            {"Asin", std::asin, 2.5},
                            {"Acos", std::acos, 1.5},
                            {"Atan", std::atan, 3},
                            {"Asinh", std::asinh, 3.2},
                            {"Acosh", std::acosh, 3},
                            {"Atanh", std::atanh, 3.5},
                            {"Erf", std::erf, 1.6},
                            {"Sigmoid", [](double v) { return 1 / (1 + std::exp(-v)); }, 2.5},
                            {"Sqrt", std::sqrt, 0.5},
                            {"Floor", std::floor, 0},
                            {"Rint", std::nearbyint, 0}}) {
    const auto y = evaluate_op(*builtin_ops().find(f.op), {}, {x});
    ASSERT_TRUE(y.ok()) << y.status().to_string();
    double worst = 0;
    std::int64_t where = 0;
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      const double distance = ulps((*y)[0].data<float>()[i], f.exact(x.data<float>()[i]));
      if (distance > worst) {
        worst = distance;
        where = i;
      }
    }
    EXPECT_LE(worst, f.most) << f.op << "(" << x.data<float>()[where] << ") gives " << (*y)[0].data<float>()[where]
                             << ", exactly " << f.exact(x.data<float>()[where]);
  }
}

}  // namespace
}  // namespace argosy
