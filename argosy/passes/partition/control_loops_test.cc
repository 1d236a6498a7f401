// Loops that several tasks share, cut by partition().
#include <gtest/gtest.h>

#include <set>

#include "argosy/ops/send_recv/send_recv.h"
#include "argosy/testing/partition_case.h"

namespace argosy {
namespace {

const std::string kLoop = str_cat(kLoopOnTwoTasks, R"(
    -> out)");

TEST(Partition, TasksOfALoopFollowItsPredicate) {
  const std::string control = "_control_loop/loop/";
  const auto control_loop = [&](char task, const std::string& cond) {
    return str_cat(control, "Const = Const [dtype=int32, value=int32[] {0}] @", task, "\n", control, "Enter = Enter(",
                   control, "Const) [frame_name=\"loop\"] @", task, "\n", control, "Merge = Merge(", control, "Enter, ",
                   control, "NextIteration) @", task, "\n", control, "Switch = Switch(", control, "Merge, ", cond,
                   ") @", task, "\n", control, "NextIteration = NextIteration(", control, "Switch:1) @", task, "\n");
  };
  const auto numbered = [](std::string text) {  // of the second control loop, whose names are taken
    for (const char* op : {"Const", "Enter", "Merge", "Switch", "NextIteration"}) {
      const std::string from = str_cat("_control_loop/loop/", op);
      for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += from.size() + 2)
        text.insert(at + from.size(), "_1");
    }
    return text;
  };
  const auto body = recv("edge_1_body", "float", 'B', 'A', true, "^" + control + "Merge");
  expect_parts(kLoop, {{'A', R"(
    zero = Const [dtype=float, value=float[] {0}] @A
    limit = Const [dtype=float, value=float[] {3}] @A
    in = Enter(zero) [frame_name="loop"] @A
    top = Enter(limit) [frame_name="loop", is_constant=true] @A
    m = Merge(in, next) @A
    less = Less(m, top) @A
    cond = LoopCond(less) @A
    s = Switch(m, cond) @A
    out = Exit(s) @A
)" + control_loop('A', "cond") + body +
                                 "next = NextIteration(edge_1_body/recv) @A\n" +
                                 send("edge_2_cond", "cond", 'A', 'B', true) + send("edge_0_s", "s:1", 'A', 'B', true) +
                                 "-> out, ^edge_0_s/send, ^edge_2_cond/send"},
                       {'B', recv("edge_2_cond", "bool", 'A', 'B', true, "^" + control + "Merge_1") +
                                 recv("edge_0_s", "float", 'A', 'B', true, "^" + control + "Merge_1") +
                                 "body = Exp(edge_0_s/recv) @B\n" + numbered(control_loop('B', "edge_2_cond/recv")) +
                                 send("edge_1_body", "body", 'B', 'A', true) + "-> ^edge_1_body/send"}});
}

// Their frames have other numbers: a value of an iteration would be waited for without end.
TEST(Partition, ATaskOfTensorFlow1SharesNoLoopWithOneOfOurs) {
  const auto cut_with = [](const std::string& text, const std::set<std::string>& foreign) {
    StepGraph step = parse_step(with_long_names(text));
    const DevicePlacement placement = placed(step);
    return partition(std::move(step), placement,
                     {.is_foreign = [&](const std::string& device) { return foreign.contains(task_of_device(device)); },
                      .own_device = kDevices[0]});
  };
  const std::string a = task_of_device(kDevices[0]), b = task_of_device(kDevices[1]);
  const Status status = cut_with(kLoop, {b}).status();
  EXPECT_EQ(status.code(), Code::kUnimplemented) << status.to_string();
  EXPECT_EQ(status.id(), "ARG-PART-004");
  for (const std::string& part : {std::string("\"loop\""), a, b}) {
    EXPECT_NE(status.message().find(part), std::string::npos) << status.to_string();
  }
  EXPECT_FALSE(status.hint().empty());
  // All of one kind; and a loop that is on one task, wherever its values go.
  EXPECT_TRUE(cut_with(kLoop, {}).ok());
  EXPECT_TRUE(cut_with(kLoop, {a, b}).ok());
  std::string alone = kLoop;
  for (std::size_t at = 0; (at = alone.find("@B", at)) != std::string::npos;) alone.replace(at, 2, "@A");
  alone.replace(alone.find("-> out"), 6, "y = Neg(out) @B\n -> y");
  const auto parts = cut_with(alone, {b});
  EXPECT_TRUE(parts.ok()) << parts.status().to_string();
}

// Every receive in a loop waits for something of the loop, or it would be started once instead of once an iteration.
TEST(Partition, InALoopOfThreeTasksNothingIsReceivedOutside) {
  const auto parts = cut(R"(
    zero = Const [dtype=float, value=float[] {0}] @A
    three = Const [dtype=float, value=float[] {3}] @A
    out0 = Enter(zero) [frame_name="outer"] @B
    outtop = Enter(three) [frame_name="outer", is_constant=true] @C
    outm = Merge(out0, outnext) @A
    outless = Less(outm, outtop) @B
    outcond = LoopCond(outless) @A
    outs = Switch(outm, outcond) @B
    in0 = Enter(outs:1) [frame_name="inner"] @C
    intop = Enter(outtop) [frame_name="inner", is_constant=true] @A
    inm = Merge(in0, innext) @B
    inless = Less(inm, intop) @C
    incond = LoopCond(inless) @C
    ins = Switch(inm, incond) @A
    step = Exp(ins:1) @B
    innext = NextIteration(step) @A
    inout = Exit(ins) @C
    outnext = NextIteration(inout) @C
    result = Exit(outs) @A
    -> result)");
  ASSERT_TRUE(parts.ok()) << parts.status().to_string();
  EXPECT_EQ(parts->size(), 3u);
  for (const Partition& part : *parts) {
    int receives = 0;
    for (const Node& n : part.step.graph.nodes()) {
      if (transfer_of(*n.op) == Transfer::kReceive) {
        ++receives;
        const bool after_loop = n.attrs.get_string("tensor_name").find("result") != std::string::npos;
        EXPECT_EQ(n.controls.size(), after_loop ? 0u : 1u) << n.name;
      }
      const bool merge = n.op->flow == Flow::kMerge;
      EXPECT_TRUE(!merge || n.inputs.size() == 2) << n.name;
    }
    EXPECT_GT(receives, 0) << part.task;
    EXPECT_TRUE(part.step.graph.topological_order().ok());
  }
}

TEST(Partition, ALoopOfOneTaskIsLeftAlone) {
  std::string text = kLoop;
  text.replace(text.find("@B"), 2, "@A");
  text.replace(text.find("-> out"), 6, "last = Neg(out) @B\n -> last");
  PartitionStats stats;
  const auto parts = cut(text, &stats);
  ASSERT_TRUE(parts.ok()) << parts.status().to_string();
  EXPECT_EQ(stats.control_loops, 0);
  EXPECT_EQ(stats.values, 1);
  for (const Node& n : (*parts)[0].step.graph.nodes()) {
    const bool sends = transfer_of(*n.op) == Transfer::kSend;
    EXPECT_TRUE(!sends || n.attrs.get_or<bool>(kNeverDead, false)) << "the loop is always entered";
  }
}

// On one task the executor sees it; several would wait for each other.
TEST(Partition, ALoopThatWaitsForItselfIsRefused) {
  std::string text = kLoop;
  const std::size_t body = text.find("body = Exp"), out = text.find("out = Exit");
  text.erase(body, out - body);
  text.replace(text.find("-> out"), 6, R"(later = Neg(out) @B
    extra = Enter(later) [frame_name="loop", is_constant=true] @A
    use = Mul(s:1, extra) @A
    next = NextIteration(use) @A
    -> later)");
  const auto parts = cut(text);
  EXPECT_EQ(parts.status().id(), "ARG-LOOP-004") << parts.status().to_string();
  EXPECT_NE(parts.status().where().find("Enter"), std::string::npos) << parts.status().where();
}

TEST(Partition, ALoopWithoutPredicateStaysOnOneTask) {
  std::string text = kLoop;
  text.replace(text.find("cond = LoopCond(less)"), 21, "cond = Identity(less)");
  EXPECT_EQ(cut(text).status().id(), "ARG-PART-002") << cut(text).status().to_string();
}

}  // namespace
}  // namespace argosy
