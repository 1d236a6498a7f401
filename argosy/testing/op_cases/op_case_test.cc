// The harness must bite: cases that are wrong in one way each, and must be told.
#include "argosy/testing/op_cases/op_case.h"

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

namespace argosy {
namespace {

const Tensor& numbers() {
  static const Tensor* const t = new Tensor(Tensor::vector<float>({1, 2, 3}));
  return *t;
}

// Everything a case reports, in one text; empty: it passes.
std::string failures_of(const OpCase& c) {
  testing::TestPartResultArray results;
  {
    using Reporter = testing::ScopedFakeTestPartResultReporter;
    const Reporter reporter(Reporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
    check(c);
  }
  std::string text;
  for (int i = 0; i < results.size(); ++i) text += results.GetTestPartResult(i).message();
  return text;
}

using testing::HasSubstr;

TEST(OpCase, BitesOnAWrongValue) {
  OpCase c{.op = "Square", .inputs = {numbers()}, .expect = {Tensor::vector<float>({1, 4, 9})}, .other_dtypes = false};
  EXPECT_EQ(failures_of(c), "");
  c.expect = {Tensor::vector<float>({1, 4, 10})};
  EXPECT_THAT(failures_of(c), HasSubstr("element 2"));
  EXPECT_THAT(failures_of(c), HasSubstr("(reference)"));
}

TEST(OpCase, BitesOnAWrongShapeAndDtype) {
  EXPECT_THAT(
      failures_of(
          {.op = "Square", .inputs = {numbers()}, .expect = {Tensor::vector<float>({1, 4})}, .other_dtypes = false}),
      HasSubstr("expected float[2]"));
  EXPECT_THAT(
      failures_of({.op = "Less", .inputs = {numbers(), numbers()}, .expect = {numbers()}, .other_dtypes = false}),
      HasSubstr("bool[3]"));
}

TEST(OpCase, BitesWhenAnErrorStaysAway) {
  EXPECT_THAT(failures_of({.op = "Square", .inputs = {numbers()}, .error = Code::kInvalidArgument}),
              HasSubstr("should have failed"));
}

// Sign jumps at 0, where its gradient says 0: the finite difference is far from that.
TEST(OpCase, BitesOnAWrongGradient) {
  EXPECT_THAT(failures_of({.op = "Sign", .inputs = {Tensor::vector<float>({0})}, .other_dtypes = false}),
              HasSubstr("gradient of input 0"));
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
