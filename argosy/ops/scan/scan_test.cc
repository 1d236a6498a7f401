#include "argosy/ops/scan/scan.h"

#include <gtest/gtest.h>

#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

TEST(ScanOps, EveryAxisAndDirection) {
  const Tensor x = random_tensor(DType::kFloat32, {3, 4, 2}, 1, 0.5, 1.5);
  for (const char* op : {"Cumsum", "Cumprod", "CumulativeLogsumexp"}) {
    for (const int axis : {0, 1, -1}) {
      for (const bool exclusive : {false, true}) {
        for (const bool reverse : {false, true}) {
          check({.op = op,
                 .inputs = {x, Tensor::scalar(axis)},
                 .attrs = {{"exclusive", exclusive}, {"reverse", reverse}},
                 .other_dtypes = axis == 1,
                 .check_gradient = !exclusive || op != std::string_view("CumulativeLogsumexp")});  // infinite there
        }
      }
    }
    check({.op = op, .inputs = {x, Tensor::scalar(3)}, .error = Code::kInvalidArgument});
    check({.op = op, .inputs = {x, Tensor::vector<std::int32_t>({0, 1})}, .error = Code::kInvalidArgument});
    check({.op = op, .inputs = {Tensor::scalar(1.0f), Tensor::scalar(0)}, .error = Code::kInvalidArgument});
    check({.op = op, .inputs = {Tensor::zeros(DType::kFloat32, {2, 0}), Tensor::scalar(0)}, .check_gradient = false});
    check({.op = op,
           .inputs = {random_tensor(DType::kFloat32, {2, 3, 600}, 2, 0.9, 1.1), Tensor::scalar(1)},
           .check_gradient = false});
  }
}

TEST(ScanOps, Definitions) {
  const Tensor x = Tensor::vector<std::int32_t>({1, 2, 3, 4});
  const auto is = [&](const char* op, bool exclusive, bool reverse, std::initializer_list<std::int32_t> y) {
    check({.op = op,
           .inputs = {x, Tensor::scalar(0)},
           .attrs = {{"exclusive", exclusive}, {"reverse", reverse}},
           .expect = {Tensor::vector<std::int32_t>(y)},
           .other_dtypes = false});
  };
  is("Cumsum", false, false, {1, 3, 6, 10});
  is("Cumsum", true, false, {0, 1, 3, 6});
  is("Cumsum", false, true, {10, 9, 7, 4});
  is("Cumsum", true, true, {9, 7, 4, 0});
  is("Cumprod", false, false, {1, 2, 6, 24});
  is("Cumprod", true, true, {24, 12, 4, 1});
  const float inf = std::numeric_limits<float>::infinity();
  check({.op = "CumulativeLogsumexp",
         .inputs = {Tensor::vector<float>({-inf, 0, 1000, inf}), Tensor::scalar(0)},
         .expect = {Tensor::vector<float>({-inf, 0, 1000, inf})},
         .other_dtypes = false,
         .check_gradient = false});
  using C = std::complex<float>;
  check({.op = "Cumprod",
         .inputs = {Tensor::vector<C>({{0, 1}, {0, 1}}), Tensor::scalar(0)},
         .expect = {Tensor::vector<C>({{0, 1}, {-1, 0}})}});
}

TEST(ScanOps, TheAxisIsAScalar) {
  for (const char* op : {"Cumsum", "Cumprod", "CumulativeLogsumexp"}) {
    check({.op = op,
           .inputs = {random_tensor(DType::kFloat32, {2, 3}), Tensor::vector<std::int32_t>({0})},
           .error = Code::kInvalidArgument});
  }
}

}  // namespace
}  // namespace argosy
