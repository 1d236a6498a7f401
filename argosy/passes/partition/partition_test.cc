// Partition, as graph text in and graph text out: values, orders, feeds, references, branches.
#include <set>

#include "argosy/testing/partition_case.h"

namespace argosy {
namespace {

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

// Both ranks run on A; B's readers take the first one's result.
TEST(Partition, OneTaskDoesACollectiveOfSeveral) {
  expect_parts(R"(
    x = _Arg [T=float, index=0, shape=shape[2]] @A
    p = Neg(x) @A
    q = Abs(x) @B
    a = _AllReduce(p) [M=1, group="g", rank=0, size=2] @A
    b = _AllReduce(q) [M=1, group="g", rank=1, size=2] @B
    n = Neg(b) @B
    m = Neg(a) @A
    -> n, m)",
               {{'A', R"(
    x = _Arg [T=float, index=0, shape=shape[2]] @A
    p = Neg(x) @A
)" + recv("edge_0_q", "float", 'B', 'A') +
                          R"(
    a = _AllReduce(p) [M=1, group="g", rank=0, size=2] @A
    b = _AllReduce(edge_0_q/recv) [M=1, group="g", rank=1, size=2] @A
    m = Neg(a) @A
)" + send("edge_1_a", "a", 'A', 'B') +
                          "-> m, ^edge_1_a/send"},
                {'B', R"(
    x = _Arg [T=float, index=0, shape=shape[2]] @B
    q = Abs(x) @B
)" + recv("edge_1_a", "float", 'A', 'B') +
                          R"(
    n = Neg(edge_1_a/recv) @B
)" + send("edge_0_q", "q", 'B', 'A') +
                          "-> n, ^edge_0_q/send"}});
}

// The next group goes to the other task: its network has carried nothing yet.
TEST(Partition, CollectivesAreSharedOutByBytes) {
  const auto parts = cut(R"(
    x = _Arg [T=float, index=0, shape=shape[2]] @A
    p = Neg(x) @A
    q = Abs(x) @B
    a = _AllReduce(p) [M=1, group="g", rank=0, size=2] @A
    b = _AllReduce(q) [M=1, group="g", rank=1, size=2] @B
    c = _AllReduce(p) [M=1, group="h", rank=0, size=2] @A
    d = _AllReduce(q) [M=1, group="h", rank=1, size=2] @B
    -> a, b, c, d)");
  ASSERT_TRUE(parts.ok()) << parts.status().to_string();
  for (const Partition& part : *parts) {
    int groups = 0;
    for (const Node& n : part.step.graph.nodes()) groups += n.op->collective ? 1 : 0;
    EXPECT_EQ(groups, 2) << part.task;
  }
}

TEST(Partition, CollectivesThatChangeVariablesStayOnOneTask) {
  const auto parts = cut(R"(
    v = VariableV2 [dtype=float, shape=shape[2]] @A
    w = VariableV2 [dtype=float, shape=shape[2]] @B
    a = _AllGatherVariables(v) [group="g", rank=0, size=2, weights=[1,1]] @A
    b = _AllGatherVariables(w) [group="g", rank=1, size=2, weights=[1,1]] @B
    -> ^a, ^b)");
  EXPECT_EQ(parts.status().id(), "ARG-PART-003") << parts.status().to_string();
}

// They say "collective", and have no partners.
TEST(Partition, OpsThatWaitForNoPartnerAreOnAnyTask) {
  expect_parts(R"(
    i = Iterator [shared_name="i", container="", output_types=[float], output_shapes=[shape[2]]] @A
    j = Iterator [shared_name="j", container="", output_types=[float], output_shapes=[shape[2]]] @B
    x = IteratorGetNext(i) [output_types=[float], output_shapes=[shape[2]]] @A
    y = IteratorGetNext(j) [output_types=[float], output_shapes=[shape[2]]] @B
    -> x, y)",
               {{'A', R"(
    i = Iterator [shared_name="i", container="", output_types=[float], output_shapes=[shape[2]]] @A
    x = IteratorGetNext(i) [output_types=[float], output_shapes=[shape[2]]] @A
    -> x)"},
                {'B', R"(
    j = Iterator [shared_name="j", container="", output_types=[float], output_shapes=[shape[2]]] @B
    y = IteratorGetNext(j) [output_types=[float], output_shapes=[shape[2]]] @B
    -> y)"}});
}

// A task of TensorFlow would take the ops of an earlier step for those of a later one.
TEST(Partition, NoTwoStepsOfASessionGiveTransfersOneName) {
  std::int64_t next = 0;
  const PartitionOptions options{.next_transfer = [&next] { return next++; }, .own_device = kDevices[0]};
  std::set<std::string> names;
  for (const char* to : {"@A", "@C"}) {
    StepGraph step = parse_step(with_long_names(str_cat(R"(
    x = _Arg [T=float, index=0, shape=shape[2]] @B
    n = Neg(x) @B
    y = Abs(n) )",
                                                        to, "\n    -> y")));
    const DevicePlacement placement = placed(step);
    const auto parts = partition(std::move(step), placement, options);
    ASSERT_TRUE(parts.ok()) << parts.status().to_string();
    for (const Partition& part : *parts) {
      for (const Node& n : part.step.graph.nodes()) {
        if (n.op->name != "_Send" && n.op->name != "_Recv") continue;
        EXPECT_TRUE(names.insert(std::string(n.name)).second) << n.name;
      }
    }
  }
  EXPECT_EQ(names.size(), 4u);
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

}  // namespace
}  // namespace argosy
