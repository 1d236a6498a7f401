#include "argosy/ops/debug/debug.h"

#include <gtest/gtest.h>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/debug/first_values.h"
#include "argosy/ops/evaluate.h"
#include "argosy/testing/op_cases/gradient_case.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

TEST(DebugOps, AssertShowsTheValues) {
  const Tensor values = Tensor::vector<float>({1.5, 2, 3, 4});
  check({.op = "Assert", .inputs = {Tensor::scalar(true), values}});
  check({.op = "Assert",
         .inputs = {Tensor::scalar(false), values, Tensor::scalar("why")},
         .error = Code::kInvalidArgument});
  Graph g;
  const Value bad = assert_true(constant(g, false), {constant(g, values), constant(g, Tensor::scalar("why"))});
  EXPECT_EQ(evaluate(g, {}, {bad.endpoint()}).status().message(), "assertion failed: [1.5 2 3...] [why]");
  check({.op = "Assert", .inputs = {Tensor::vector<bool>({true}), values}, .error = Code::kInvalidArgument});
}

TEST(DebugOps, SummariesAreTensorFlows) {
  const Tensor t = Tensor::of<std::int32_t>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(first_values(t, -1), "[[1 2][3 4]][[5 6][7 8]]");
  EXPECT_EQ(first_values(t, 3), "[[1 2][3...]]...");
  EXPECT_EQ(first_values(t, 4), "[[1 2][3 4]]...");
  EXPECT_EQ(first_values(Tensor::vector<float>({0.1f, 1e10f, -2}), 2), "0.1 1e+10...");
  EXPECT_EQ(first_values(Tensor::scalar(true), 3), "1");
  EXPECT_EQ(first_values(Tensor::of<float>({0}, {}), 3), "");
}

TEST(DebugOps, PrintHandsItsInputOn) {
  const Tensor x = Tensor::vector<float>({1, 2});
  testing::internal::CaptureStderr();
  check({.op = "Print",
         .inputs = {x, Tensor::of<float>({1, 2}, {7, 8})},
         .attrs = {{"message", "x: "}},
         .expect = {x},
         .other_dtypes = false,
         .check_gradient = false});
  const std::string printed = testing::internal::GetCapturedStderr();
  EXPECT_EQ(printed.substr(0, 11), "x: [[7 8]]\n");
}

TEST(DebugOps, PrintHandsGradientsOn) {
  check_gradients({.ops = {"Print"}, .at = {Tensor::vector<double>({1, 2})}, .f = [](Graph& g, const auto& x) {
                     return std::vector<Value>{g.add("Mul", {print(x[0], {x[0]}, {.first_n = 0}), x[0]})};
                   }});
}

TEST(DebugOps, PrintStopsAfterTheFirstTimes) {
  Graph g;
  const Value x = constant(g, 1.f);
  print(x, {x}, {.first_n = 0});
  testing::internal::CaptureStderr();
  check({.op = "Print",
         .inputs = {Tensor::scalar(1.f)},
         .attrs = {{"first_n", 0}},
         .expect = {Tensor::scalar(1.f)},
         .other_dtypes = false});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(DebugOps, PrintTextKnowsItsStreams) {
  testing::internal::CaptureStdout();
  check({.op = "PrintV2", .inputs = {Tensor::scalar("hello")}, .attrs = {{"output_stream", "stdout"}}});
  EXPECT_EQ(testing::internal::GetCapturedStdout().substr(0, 6), "hello\n");
  check({.op = "PrintV2",
         .inputs = {Tensor::scalar("x")},
         .attrs = {{"output_stream", "file:///etc/motd"}},
         .error = Code::kInvalidArgument,
         .unlike_tensorflow = "TensorFlow writes the file"});
}

TEST(DebugOps, TimestampsAreNow) {
  Graph g;
  const auto out = evaluate(g, {}, {timestamp(g).endpoint()});
  ASSERT_TRUE(out.ok());
  EXPECT_GT(*(*out)[0].data<double>(), 1.6e9);
}

}  // namespace
}  // namespace argosy
