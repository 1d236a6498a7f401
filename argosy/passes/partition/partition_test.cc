// Partition, as graph text in and graph text out. "@A", "@B", "@C" stand for the CPUs of three tasks; A is the own one.
#include "argosy/passes/partition/partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "argosy/ops/send_recv/send_recv.h"
#include "argosy/testing/expect_rewrite.h"

namespace argosy {
namespace {

const std::vector<std::string> kDevices = {
    "/job:a/replica:0/task:0/device:CPU:0", "/job:b/replica:0/task:0/device:CPU:0",
    "/job:b/replica:0/task:1/device:CPU:0", "/job:a/replica:0/task:0/device:GPU:0"};
constexpr std::string_view kShort = "ABCG";

std::string with_long_names(std::string text) {
  for (std::size_t d = 0; d < kDevices.size(); ++d) {
    for (const auto& [from, to] : {std::pair(str_cat("@", kShort[d]), str_cat("@", kDevices[d])),
                                   std::pair(str_cat("\"", kShort[d], "\""), str_cat("\"", kDevices[d], "\""))}) {
      for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
        text.replace(at, from.size(), to);
    }
  }
  return text;
}

Placement placed(const StepGraph& step) {
  Placement p{.device = {}, .reason = {}, .reasons = {""}, .device_name = kDevices};
  for (const Node& n : step.graph.nodes()) {
    const auto at = std::find(kDevices.begin(), kDevices.end(), n.device);
    p.device.push_back(at == kDevices.end() ? 0 : static_cast<int>(at - kDevices.begin()));
    p.reason.push_back(0);
  }
  return p;
}

Result<std::vector<Partition>> cut(const std::string& text, PartitionStats* stats = nullptr) {
  StepGraph step = parse_step(with_long_names(text));
  const Placement placement = placed(step);
  return partition(std::move(step), placement, {.own_device = kDevices[0]}, stats);
}

// By task ("A"), what it is to get.
void expect_parts(const std::string& in, const std::map<char, std::string>& out) {
  const auto parts = cut(in);
  ASSERT_TRUE(parts.ok()) << parts.status().to_string();
  EXPECT_EQ(parts->size(), out.size());
  for (const Partition& part : *parts) {
    char name = '?';
    for (std::size_t d = 0; d < 3; ++d) {
      if (task_of_device(kDevices[d]) == part.task) name = kShort[d];
    }
    const auto wanted = out.find(name);
    ASSERT_NE(wanted, out.end()) << part.task;
    const std::string text = wanted->second.empty() ? "-> " : step_text(parse_step(with_long_names(wanted->second)));
    EXPECT_EQ(step_text(part.step), text) << "task " << name;
  }
}

std::string ends(const std::string& edge, char from, char to, bool dead) {
  return str_cat("tensor_name=\"", edge, "\", send_device=\"", from, "\", send_device_incarnation=0, recv_device=\"",
                 to, "\"", dead ? "" : ", _never_dead=true", "]");
}
// A line of the expected text. `dead`: it may be.
std::string send(const std::string& edge, const std::string& value, char from, char to, bool dead = false) {
  return str_cat(edge, "/send = _Send(", value, ") [", ends(edge, from, to, dead), " @", from, "\n");
}
std::string recv(const std::string& edge, const std::string& type, char from, char to, bool dead = false,
                 const std::string& controls = "") {
  return str_cat(edge, "/recv = _Recv(", controls, ") [tensor_type=", type, ", ", ends(edge, from, to, dead), " @", to,
                 "\n");
}

TEST(Partition, AValueCrossesOnceForEachTaskThatTakesIt) {
  expect_parts(R"(
    x = _Arg [T=float, index=0, shape=shape[2]] @A
    n = Neg(x) @A
    p = Abs(n) @B
    q = Exp(n) @B
    r = Sin(n) @C
    -> p, q, r)",
               {{'A', R"(
    x = _Arg [T=float, index=0, shape=shape[2]] @A
    n = Neg(x) @A
)" + send("edge_0_n", "n", 'A', 'B') +
                          send("edge_1_n", "n", 'A', 'C') + R"(
    -> ^edge_0_n/send, ^edge_1_n/send)"},
                {'B', recv("edge_0_n", "float", 'A', 'B') + R"(
    p = Abs(edge_0_n/recv) @B
    q = Exp(edge_0_n/recv) @B
    -> p, q)"},
                {'C', recv("edge_1_n", "float", 'A', 'C') + R"(
    r = Sin(edge_1_n/recv) @C
    -> r)"}});
}

TEST(Partition, DevicesOfOneTaskAreOnePart) {
  expect_parts(R"(
    x = _Arg [T=float, index=0, shape=shape[2]] @A
    n = Neg(x) @G
    p = Abs(n) @A
    -> p)",
               {{'A', R"(
    x = _Arg [T=float, index=0, shape=shape[2]] @A
    n = Neg(x) @G
    p = Abs(n) @A
    -> p)"}});
}

// Every task has its own; the fetched ones are the own task's.
TEST(Partition, FeedsAndConstantsDoNotCross) {
  expect_parts(R"(
    x = _Arg [T=float, index=0, shape=shape[2]] @A
    two = Const [dtype=float, value=float[] {2}] @A
    y = Mul(x, two) @B
    -> y, x, two)",
               {{'A', R"(
    x = _Arg [T=float, index=0, shape=shape[2]] @A
    two = Const [dtype=float, value=float[] {2}] @A
    -> x, two)"},
                {'B', R"(
    x = _Arg [T=float, index=0, shape=shape[2]] @B
    two = Const [dtype=float, value=float[] {2}] @B
    y = Mul(x, two) @B
    -> y)"}});
}

TEST(Partition, SaysWhereFeedsAndFetchesAre) {
  const auto parts = cut(R"(
    x = _Arg [T=float, index=0] @A
    y = _Arg [T=float, index=1] @A
    p = Neg(y) @B
    q = Neg(x) @A
    r = Add(x, y) @B
    -> p, q, r, ^p, ^q)");
  ASSERT_TRUE(parts.ok()) << parts.status().to_string();
  ASSERT_EQ(parts->size(), 2u);
  EXPECT_EQ((*parts)[0].feeds, (std::vector<int>{0}));
  EXPECT_EQ((*parts)[0].fetches, (std::vector<int>{1}));
  EXPECT_EQ((*parts)[0].targets, (std::vector<int>{1}));
  EXPECT_EQ((*parts)[1].feeds, (std::vector<int>{0, 1}));
  EXPECT_EQ((*parts)[1].fetches, (std::vector<int>{0, 2}));
  EXPECT_EQ((*parts)[1].targets, (std::vector<int>{0}));
}

TEST(Partition, TheOwnPartIsThereEvenIfItIsEmpty) {
  expect_parts(R"(
    x = Const [dtype=float, value=float[] {2}] @B
    y = Neg(x) @B
    -> y)",
               {{'A', ""}, {'B', R"(
    x = Const [dtype=float, value=float[] {2}] @B
    y = Neg(x) @B
    -> y)"}});
}

TEST(Partition, AControlEdgeCrossesAsAnOrder) {
  expect_parts(R"(
    x = _Arg [T=float, index=0, shape=shape[2]] @A
    n = Neg(x) @A
    p = Abs(x, ^n) @B
    q = Exp(x, ^n) @B
    -> p, q, ^n)",
               {{'A', R"(
    x = _Arg [T=float, index=0, shape=shape[2]] @A
    n = Neg(x) @A
    _order/n = Const(^n) [dtype=float, value=float[0] {}] @A
)" + send("edge_0_n", "_order/n", 'A', 'B') +
                          "-> ^edge_0_n/send, ^n"},
                {'B', R"(
    x = _Arg [T=float, index=0, shape=shape[2]] @B
)" + recv("edge_0_n", "float", 'A', 'B') +
                          R"(
    edge_0_n/order = Identity(edge_0_n/recv) @B
    p = Abs(x, ^edge_0_n/order) @B
    q = Exp(x, ^edge_0_n/order) @B
    -> p, q)"}});
}

TEST(Partition, AnOrderGoesWithAValueThatCrossesAnyway) {
  expect_parts(R"(
    x = _Arg [T=float, index=0, shape=shape[2]] @A
    n = Neg(x) @A
    p = Abs(x, ^n) @B
    q = Exp(n) @B
    -> p, q)",
               {{'A', R"(
    x = _Arg [T=float, index=0, shape=shape[2]] @A
    n = Neg(x) @A
)" + send("edge_0_n", "n", 'A', 'B') +
                          "-> ^edge_0_n/send"},
                {'B', R"(
    x = _Arg [T=float, index=0, shape=shape[2]] @B
)" + recv("edge_0_n", "float", 'A', 'B') +
                          R"(
    edge_0_n/order = Identity(edge_0_n/recv) @B
    p = Abs(x, ^edge_0_n/order) @B
    q = Exp(edge_0_n/recv) @B
    -> p, q)"}});
}

// Beside the variable, and after all that its reader waits for.
TEST(Partition, AReferenceIsReadBesideItsVariable) {
  expect_parts(
      R"(
    w = VariableV2 [dtype=float, shape=shape[2]] @B
    x = _Arg [T=float, index=0, shape=shape[2]] @A
    set = Assign(w, x) @B
    y = Add(w, x, ^set) @A
    -> y)",
      {{'A', "x = _Arg [T=float, index=0, shape=shape[2]] @A\n" + recv("edge_0_w/read", "float", 'B', 'A') + R"(
    y = Add(edge_0_w/read/recv, x, ^edge_1_set/order) @A
)" + recv("edge_1_set", "float", 'B', 'A') +
                 R"(
    edge_1_set/order = Identity(edge_1_set/recv) @A
    -> y)"},
       {'B', R"(
    w = VariableV2 [dtype=float, shape=shape[2]] @B
    x = _Arg [T=float, index=0, shape=shape[2]] @B
    set = Assign(w, x) @B
    w/read = Identity(w, ^set) @B
    _order/set = Const(^set) [dtype=float, value=float[0] {}] @B
)" + send("edge_0_w/read", "w/read", 'B', 'A') +
                 send("edge_1_set", "_order/set", 'B', 'A') + "-> ^edge_0_w/read/send, ^edge_1_set/send"}});
}

TEST(Partition, VariablesAndHandlesDoNotCross) {
  const auto by_reference = cut(R"(
    w = VariableV2 [dtype=float, shape=shape[2]] @B
    x = _Arg [T=float, index=0, shape=shape[2]] @A
    set = Assign(w, x) @A
    -> ^set)");
  EXPECT_EQ(by_reference.status().id(), "ARG-PART-001") << by_reference.status().to_string();
  EXPECT_NE(by_reference.status().message().find("'set' (Assign) on /job:a/replica:0/task:0"), std::string::npos);
  const auto by_handle = cut(R"(
    w = VarHandleOp [dtype=float, shape=shape[2]] @B
    y = ReadVariableOp(w) [dtype=float] @A
    -> y)");
  EXPECT_EQ(by_handle.status().id(), "ARG-PART-001") << by_handle.status().to_string();
  const auto fed = cut(R"(
    w = _Arg [T=resource, index=0] @A
    y = ReadVariableOp(w) [dtype=float] @B
    -> y)");
  EXPECT_EQ(fed.status().id(), "ARG-PART-001") << fed.status().to_string();
}

TEST(Partition, CollectivesStayOnOneTask) {
  const auto parts = cut(R"(
    x = _Arg [T=float, index=0, shape=shape[2]] @A
    a = _AllReduce(x) [M=1, group="g", rank=0, size=2] @A
    b = _AllReduce(x) [M=1, group="g", rank=1, size=2] @B
    -> a, b)");
  EXPECT_EQ(parts.status().id(), "ARG-PART-003") << parts.status().to_string();
}

// What a branch gives may be dead: the pair does not say that it never is.
TEST(Partition, BranchesMayBeDead) {
  expect_parts(R"(
    x = _Arg [T=float, index=0, shape=shape[2]] @A
    p = _Arg [T=bool, index=1, shape=shape[]] @A
    s = Switch(x, p) @A
    n = Neg(s:1) @B
    m = Merge(s, n) @A
    -> m)",
               {{'A', R"(
    x = _Arg [T=float, index=0, shape=shape[2]] @A
    p = _Arg [T=bool, index=1, shape=shape[]] @A
    s = Switch(x, p) @A
)" + send("edge_0_s", "s:1", 'A', 'B', true) +
                          recv("edge_1_n", "float", 'B', 'A', true) + R"(
    m = Merge(s, edge_1_n/recv) @A
    -> m, ^edge_0_s/send)"},
                {'B', recv("edge_0_s", "float", 'A', 'B', true) + R"(
    n = Neg(edge_0_s/recv) @B
)" + send("edge_1_n", "n", 'B', 'A', true) +
                          "-> ^edge_1_n/send"}});
}

// --- loops -----------------------------------------------------------------------------------------------------------

constexpr const char* kLoop = R"(
    zero = Const [dtype=float, value=float[] {0}] @A
    limit = Const [dtype=float, value=float[] {3}] @A
    in = Enter(zero) [frame_name="loop"] @A
    top = Enter(limit) [frame_name="loop", is_constant=true] @A
    m = Merge(in, next) @A
    less = Less(m, top) @A
    cond = LoopCond(less) @A
    s = Switch(m, cond) @A
    body = Exp(s:1) @B
    next = NextIteration(body) @A
    out = Exit(s) @A
    -> out)";

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
