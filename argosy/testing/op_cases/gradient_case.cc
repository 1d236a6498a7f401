#include "argosy/testing/op_cases/gradient_case.h"

#include <gtest/gtest.h>

#include <cmath>

#include "argosy/graph/gradients.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/evaluate.h"
#include "argosy/testing/op_cases/op_case.h"
#include "argosy/testing/op_cases/op_dump.h"

namespace argosy {

namespace {

double element(const Tensor& t, std::int64_t i) {
  double value = 0;
  const Status read = dispatch<FloatTypes>(t.dtype(), "element", [&]<typename T>() {
    value = static_cast<double>(t.data<T>()[i]);
    return ok_status();
  });
  EXPECT_TRUE(read.ok()) << read.to_string();
  return value;
}

// As near to `value` as the dtype allows: what it then is.
double set_element(Tensor& t, std::int64_t i, double value) {
  const Status written = dispatch<FloatTypes>(t.dtype(), "set_element", [&]<typename T>() {
    t.data<T>()[i] = T(value);
    return ok_status();
  });
  EXPECT_TRUE(written.ok()) << written.to_string();
  return element(t, i);
}

class Difference {
 public:
  explicit Difference(const GradientCase& c) : c_(c) {
    for (const Tensor& t : c.at) {
      xs_.push_back(placeholder(graph_, t.dtype(), t.shape()));
      feeds_[xs_.back().endpoint()] = t.clone();
    }
    for (const Value& y : c.f(graph_, xs_)) {
      if (!y.valid() || is_floating(y.dtype())) ys_.push_back(y);
    }
  }

  void check() {
    ASSERT_TRUE(graph_.status().ok()) << graph_.status().to_string();
    if (ys_.empty()) return;
    for (const Value& y : ys_) endpoints_.push_back(y.endpoint());
    const auto at = evaluate(graph_, feeds_, endpoints_);
    ASSERT_TRUE(at.ok()) << at.status().to_string();
    GradOptions options{.allow_unconnected = true};
    for (std::size_t i = 0; i < at->size(); ++i) {
      weights_.push_back(random_tensor((*at)[i].dtype(), (*at)[i].shape(), 100 + i));
      options.grad_ys.push_back(constant(graph_, weights_.back()));
    }
    const auto dxs = gradients(graph_, ys_, xs_, options);
    ASSERT_TRUE(graph_.status().ok()) << "gradient: " << graph_.status().to_string();
    bool compared = false;
    for (std::size_t i = 0; i < xs_.size(); ++i) {
      const Tensor& x = c_.at[i];
      Tensor analytic = Tensor::zeros(x.dtype(), x.shape());
      if (dxs[i].valid()) {
        const auto computed = evaluate(graph_, feeds_, {dxs[i].endpoint()});
        ASSERT_TRUE(computed.ok()) << "gradient of input " << i << ": " << computed.status().to_string();
        analytic = (*computed)[0];
        compared = compared || x.elements() > 0;
      }
      ASSERT_EQ(analytic.dtype(), x.dtype()) << "gradient of input " << i;
      ASSERT_EQ(analytic.shape().to_string(), x.shape().to_string()) << "gradient of input " << i;
      for (std::int64_t k = 0; k < x.elements(); ++k) {
        const double numeric = slope(i, k);
        EXPECT_NEAR(element(analytic, k), numeric, c_.tolerance * std::max(1.0, std::abs(numeric)) + 1e-9)
            << "gradient of input " << i << " element " << k;
      }
    }
    if (!compared || testing::Test::HasFailure()) return;
    for (const std::string& op : c_.ops) dump_gradient(op);
  }

 private:
  double sum() {
    const auto out = evaluate(graph_, feeds_, endpoints_);
    if (!out.ok()) return std::nan("");
    double sum = 0;
    for (std::size_t i = 0; i < out->size(); ++i) {
      for (std::int64_t k = 0; k < (*out)[i].elements(); ++k) sum += element((*out)[i], k) * element(weights_[i], k);
    }
    return sum;
  }

  double slope(std::size_t input, std::int64_t k) {
    Tensor& x = feeds_[xs_[input].endpoint()];
    const double at = element(x, k);
    const double right = set_element(x, k, at + c_.step);
    const double above = sum();
    const double left = set_element(x, k, at - c_.step);
    const double below = sum();
    set_element(x, k, at);
    return (above - below) / (right - left);
  }

  const GradientCase& c_;
  Graph graph_;
  std::vector<Value> xs_, ys_;
  std::unordered_map<Endpoint, Tensor> feeds_;
  std::vector<Endpoint> endpoints_;
  std::vector<Tensor> weights_;
};

}  // namespace

void check_gradients(const GradientCase& c) {
  std::string names;
  for (const std::string& op : c.ops) names += " " + op;
  SCOPED_TRACE(names);
  Difference(c).check();
}

}  // namespace argosy
