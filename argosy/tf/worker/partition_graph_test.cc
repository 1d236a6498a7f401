// A partition as it travels to a task of TensorFlow: names and attributes that such a task can live with.
#include "argosy/tf/worker/partition_graph.h"

#include <gmock/gmock.h>

#include <set>

#include "argosy/formats/proto/graph.pb.h"
#include "argosy/passes/simplify/order_ref_reads.h"
#include "argosy/testing/expect_rewrite.h"

namespace argosy::tf {
namespace {

constexpr const char* kDevice = "/job:ps/replica:0/task:0/device:CPU:0";
constexpr const char* kRefusal =
    "NodeDef mentions attr 'grad_a' not in Op<name=MatMul; signature=a:T, b:T -> product:T; "
    "attr=transpose_a:bool,default=false>; NodeDef: {{node m}}. (Check whether your GraphDef-interpreting binary is up "
    "to date with your GraphDef-generating binary.).";

StepGraph placed_step(std::string text) {
  for (std::size_t at = 0; (at = text.find("@A", at)) != std::string::npos;) text.replace(at, 2, str_cat("@", kDevice));
  return parse_step(text);
}

tensorflow::GraphDef written(const StepGraph& step, std::int64_t number, PartitionKeys* keys = nullptr) {
  tensorflow::GraphDef def;
  PartitionKeys all;
  const Status status = write_partition(
      step, [](const std::string&) { return std::uint64_t{7}; }, number, &def, &all);
  EXPECT_TRUE(status.ok()) << status.to_string();
  if (keys != nullptr) *keys = all;
  return def;
}

// In another step x may be no feed, or another feed, and the fetch another value.
TEST(PartitionGraph, WhatIsFedAndFetchedHasOtherNamesInEveryGraph) {
  const StepGraph step = placed_step(R"(
    x = _Arg [T=float, index=0, shape=shape[2]] @A
    n = Neg(x) @A
    p = Add(x, n) @A
    -> p, n)");
  std::set<std::string> names;
  for (const std::int64_t number : {0, 1}) {
    PartitionKeys keys;
    const tensorflow::GraphDef def = written(step, number, &keys);
    EXPECT_EQ(keys.feeds.size(), 1u);
    EXPECT_EQ(keys.fetches.size(), 2u);
    std::string fed;
    for (const tensorflow::NodeDef& node : def.node()) {
      if (node.op() != "_Send" && node.op() != "_Recv") continue;
      EXPECT_NE(node.name(), "x");
      EXPECT_TRUE(names.insert(node.name()).second) << node.name();
      if (node.op() == "_Recv") fed = node.name();
    }
    for (const tensorflow::NodeDef& node : def.node()) {
      if (node.name() == "n" || node.name() == "p") {
        EXPECT_EQ(node.input(0), fed);
      }
    }
    const auto read = read_partition(def.SerializeAsString());
    EXPECT_TRUE(read.ok()) << read.status().to_string();
  }
  EXPECT_EQ(names.size(), 6u);
}

// The read of `v` that the step ends with is the variable's; another task sends what its read gave.
TEST(PartitionGraph, FetchedReadsAreSentAndNotTheirVariables) {
  StepGraph step = placed_step(R"(
    v = VariableV2 [dtype=float, shape=shape[]] @A
    a = Const [dtype=float, value=float[] {2}] @A
    u = AssignAdd(v, a) @A
    i = Identity(v, ^u) @A
    -> i, i, a)");
  ASSERT_EQ(*order_ref_reads(step), 2);
  EXPECT_EQ(step.graph.node(step.fetches[0].node).op->name, "VariableV2");
  PartitionKeys keys;
  const tensorflow::GraphDef def = written(step, 0, &keys);
  ASSERT_EQ(keys.fetches.size(), 3u);
  int reads = 0;
  for (const tensorflow::NodeDef& node : def.node()) {
    EXPECT_FALSE(node.attr().contains(kFetchedAs));
    if (node.op() == "_Send" && node.input(0) == "i") ++reads;
  }
  EXPECT_EQ(reads, 2);
}

// Clients may give their nodes any attribute.
TEST(PartitionGraph, AClientsMarkOfAFetchedReadChangesNothing) {
  const StepGraph step = placed_step(R"(
    v = VariableV2 [dtype=float, shape=shape[]] @A
    a = Const [dtype=float, value=float[] {2}] @A
    none = NoOp [_fetched_as=[0, 1]] @A
    other = Const [dtype=int32, value=int32[] {2}, _fetched_as=[0, 7, -1]] @A
    -> v, a, ^none, ^other)");
  PartitionKeys keys;
  const tensorflow::GraphDef def = written(step, 0, &keys);
  std::set<std::string> sent;
  for (const tensorflow::NodeDef& node : def.node()) {
    if (node.op() == "_Send") sent.insert(node.input(0));
  }
  EXPECT_EQ(sent, (std::set<std::string>{"v", "a"}));
}

TEST(PartitionGraph, AnAttributeThatAnOlderTaskDoesNotKnowIsLeftOut) {
  tensorflow::GraphDef def = written(placed_step(R"(
    a = Const [dtype=float, value=float[1,1] {2}] @A
    m = MatMul(a, a) [transpose_a=true] @A
    -> ^m)"),
                                     0);
  const auto has = [&](const char* attr) {
    for (const tensorflow::NodeDef& node : def.node()) {
      if (node.name() == "m") return node.attr().contains(attr);
    }
    return false;
  };
  *def.mutable_library()->add_function()->add_node_def() = def.node(1);
  ASSERT_TRUE(has("grad_a"));
  UnknownAttributes unknown;
  EXPECT_FALSE(unknown.learn("Op type not registered 'MatMul'"));
  EXPECT_FALSE(unknown.learn("NodeDef mentions attr 'grad_a"));
  EXPECT_FALSE(unknown.learn("NodeDef mentions attr 'grad_a' not in Op<name=MatMul"));
  EXPECT_FALSE(unknown.leave_out(def));
  EXPECT_TRUE(unknown.learn(kRefusal));
  EXPECT_TRUE(unknown.leave_out(def));
  EXPECT_FALSE(has("grad_a"));
  EXPECT_TRUE(has("grad_b") && has("transpose_a") && has("transpose_b"));
  EXPECT_FALSE(def.library().function(0).node_def(0).attr().contains("grad_a"));
  EXPECT_TRUE(unknown.learn(kRefusal));
  EXPECT_FALSE(unknown.leave_out(def)) << "who sends again while something is left out comes to an end";
}

TEST(PartitionGraph, AnAttributeThatSaysSomethingStays) {
  tensorflow::GraphDef def = written(placed_step(R"(
    a = Const [dtype=float, value=float[1,1] {2}] @A
    m = MatMul(a, a) [grad_a=true] @A
    -> ^m)"),
                                     0);
  UnknownAttributes unknown;
  EXPECT_TRUE(unknown.learn(kRefusal));
  EXPECT_FALSE(unknown.leave_out(def)) << "the task's refusal is the answer";
}

}  // namespace
}  // namespace argosy::tf
