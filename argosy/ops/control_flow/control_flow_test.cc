#include "argosy/ops/control_flow/control_flow.h"

#include <gtest/gtest.h>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/evaluate.h"
#include "argosy/ops/ops.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

TEST(ControlFlowOps, DeviceIndex) {
  const auto gives = [](const std::vector<std::string>& names, std::int32_t index) {
    check({.op = "DeviceIndex", .attrs = {{"device_names", names}}, .expect = {Tensor::scalar(index)}});
  };
  gives({"CPU", "GPU"}, 0);
  gives({"GPU", "CPU"}, 1);
  gives({"GPU"}, 1);
  gives({}, 0);
}

TEST(ControlFlowOps, SwitchLeavesTheOtherOutputDead) {
  const Tensor x = Tensor::vector<float>({1, 2});
  const auto out = evaluate_op(*builtin_ops().find("Switch"), {}, {x, Tensor::scalar(true)});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_FALSE((*out)[0].valid());
  EXPECT_EQ(difference((*out)[1], x, 0), "");
  check({.op = "Switch", .inputs = {x, Tensor::vector<bool>({true})}, .error = Code::kInvalidArgument});
}

TEST(ControlFlowOps, MergeTakesTheLiveInput) {
  const Tensor x = Tensor::vector<float>({1, 2});
  check({.op = "Merge", .inputs = {x}, .expect = {x, Tensor::scalar(std::int32_t{0})}, .check_gradient = false});
}

TEST(ControlFlowOps, MergeKeepsWhatShapesHaveInCommon) {
  Graph g;
  const Value a = placeholder(g, DType::kFloat32, {2, 3});
  const Value b = placeholder(g, DType::kFloat32, {2, 4});
  const Value c = placeholder(g, DType::kFloat32, {2});
  EXPECT_EQ(merge({a, b}).shape().to_string(), "[2,?]");
  EXPECT_FALSE(merge({a, c}).shape().has_rank());
  EXPECT_EQ(merge({a, a}).output(1).shape().to_string(), "[]");
}

TEST(ControlFlowOps, AloneTheyForward) {
  const Tensor x = Tensor::vector<float>({1, 2});
  for (const char* op : {"Enter", "Exit", "NextIteration"}) {
    AttrMap attrs;
    if (op == std::string_view("Enter")) attrs.set("frame_name", "loop");
    check({.op = op, .inputs = {x}, .attrs = attrs, .expect = {x}, .check_gradient = false});
  }
  Graph g;
  g.add("Enter", {constant(g, x)}, {{"frame_name", ""}});
  EXPECT_EQ(g.status().code(), Code::kInvalidArgument);
  check({.op = "LoopCond", .inputs = {Tensor::scalar(true)}, .expect = {Tensor::scalar(true)}});
  check({.op = "LoopCond",
         .inputs = {Tensor::vector<bool>({true})},
         .error = Code::kInvalidArgument,
         .unlike_tensorflow = "TensorFlow looks at its shape in graphs alone"});
  check({.op = "ControlTrigger"});
}

TEST(ControlFlowOps, ToBoolAsksForNumbersTextsAndElements) {
  const auto expect = [](Tensor x, bool truth) {
    check({.op = "ToBool",
           .inputs = {std::move(x)},
           .expect = {Tensor::scalar(truth)},
           .unlike_tensorflow = "TensorFlow's has no 16-bit floats"});
  };
  expect(Tensor::scalar(0.f), false);
  expect(Tensor::scalar(-0.5f), true);
  expect(Tensor::scalar(std::int64_t{7}), true);
  expect(Tensor::scalar(false), false);
  expect(Tensor::scalar(true), true);
  expect(Tensor::scalar(""), false);
  expect(Tensor::scalar("no"), true);
  expect(Tensor::vector<float>({0}), true);
  expect(Tensor::of<float>({0}, {}), false);
}

TEST(ControlFlowOps, FactsForTheExecutor) {
  const OpRegistry& ops = builtin_ops();
  EXPECT_EQ(ops.find("RefSwitch")->flow, Flow::kSwitch);
  EXPECT_TRUE(ops.find("RefMerge")->input_args[0].is_ref);
  EXPECT_TRUE(ops.find("RefNextIteration")->closes_loop);
  EXPECT_EQ(ops.find("ControlTrigger")->flow, Flow::kControlTrigger);
  EXPECT_EQ(ops.find("NoOp")->flow, Flow::kNone);
}

TEST(ControlFlowOps, AbortIsAnErrorOfTheStep) {
  check({.op = "Abort",
         .attrs = {{"error_msg", "lost"}},
         .error = Code::kAborted,
         .error_contains = "lost",
         .unlike_tensorflow = "TensorFlow's ends the process, or is not run at all"});
}

}  // namespace
}  // namespace argosy
