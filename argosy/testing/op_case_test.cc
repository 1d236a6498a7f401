// The harness must bite: cases that are wrong in one way each, and must be told.
#include "argosy/testing/op_case.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

namespace argosy {
namespace {

const Tensor& numbers() {
  static const Tensor* const t = new Tensor(Tensor::vector<float>({1, 2, 3}));
  return *t;
}

TEST(OpCase, BitesOnAWrongValue) {
  EXPECT_NONFATAL_FAILURE(check({.op = "Square",
                                 .inputs = {numbers()},
                                 .expect = {Tensor::vector<float>({1, 4, 10})},
                                 .other_dtypes = false}),
                          "element 2");
}

TEST(OpCase, BitesOnAWrongShapeAndDtype) {
  EXPECT_NONFATAL_FAILURE(
      check({.op = "Square", .inputs = {numbers()}, .expect = {Tensor::vector<float>({1, 4})}, .other_dtypes = false}),
      "expected float[2]");
  EXPECT_NONFATAL_FAILURE(
      check({.op = "Less", .inputs = {numbers(), numbers()}, .expect = {numbers()}, .other_dtypes = false}), "bool[3]");
}

TEST(OpCase, BitesWhenAnErrorStaysAway) {
  EXPECT_FATAL_FAILURE(check({.op = "Square", .inputs = {numbers()}, .error = Code::kInvalidArgument}),
                       "should have failed");
}

// Sign jumps at 0, where its gradient says 0: the finite difference is far from that.
TEST(OpCase, BitesOnAWrongGradient) {
  EXPECT_NONFATAL_FAILURE(check({.op = "Sign", .inputs = {Tensor::vector<float>({0})}, .other_dtypes = false}),
                          "gradient of input 0");
}

TEST(OpCase, ClosenessIsRelativeAboveOne) {
  const Tensor a = Tensor::scalar(1000.0f);
  EXPECT_EQ(difference(a, Tensor::scalar(1000.5f), 1e-3), "");
  EXPECT_NE(difference(a, Tensor::scalar(1002.0f), 1e-3), "");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(difference(Tensor::scalar(nan), Tensor::scalar(nan), 0), "");
  EXPECT_NE(difference(Tensor::scalar(nan), a, 1), "");
}

}  // namespace
}  // namespace argosy
