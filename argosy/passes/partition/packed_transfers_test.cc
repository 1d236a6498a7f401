// Which values share a message, and which must not. "@A" and "@B" stand for the CPUs of two tasks.
#include <gtest/gtest.h>

#include "argosy/passes/partition/partition.h"
#include "argosy/testing/expect_rewrite.h"

namespace argosy {
namespace {

const std::vector<std::string> kDevices = {"/job:a/replica:0/task:0/device:CPU:0",
                                           "/job:b/replica:0/task:0/device:CPU:0"};

std::string with_long_names(std::string text) {
  for (std::size_t d = 0; d < kDevices.size(); ++d) {
    const std::string name = str_cat("@", "AB"[d]);
    for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += kDevices[d].size() + 1)
      text.replace(at, 2, "@" + kDevices[d]);
  }
  return text;
}

struct Cut {
  std::vector<Partition> parts;
  PartitionStats stats;
};

Cut cut(const std::string& text, bool packs = true) {
  StepGraph step = parse_step(with_long_names(text));
  DevicePlacement placement{.device = {}, .reason = {}, .reasons = {""}, .device_name = kDevices};
  for (const Node& n : step.graph.nodes()) {
    placement.device.push_back(n.device == kDevices[1] ? 1 : 0);
    placement.reason.push_back(0);
  }
  Cut made;
  auto parts =
      partition(std::move(step), placement,
                {.packs = [packs](const std::string&) { return packs; }, .own_device = kDevices[0]}, &made.stats);
  EXPECT_TRUE(parts.ok()) << parts.status().to_string();
  if (parts.ok()) made.parts = *std::move(parts);
  return made;
}

int count(const Partition& part, std::string_view op) {
  int n = 0;
  for (const Node& node : part.step.graph.nodes()) n += node.op->name == op ? 1 : 0;
  return n;
}

constexpr const char* kTwoValues = R"(
    x = _Arg [T=float, index=0, shape=shape[2]] @A
    n = Neg(x) @A
    m = Abs(x) @A
    y = Add(n, m) @B
    -> y)";

TEST(PackedTransfers, EquallyDeepValuesShareAMessage) {
  const Cut made = cut(kTwoValues);
  EXPECT_EQ(made.stats.values, 2);
  EXPECT_EQ(made.stats.messages, 1);
  EXPECT_EQ(count(made.parts[0], "_PackValues"), 1);
  EXPECT_EQ(count(made.parts[0], "_Send"), 1);
  EXPECT_EQ(count(made.parts[1], "_Recv"), 1);
  EXPECT_EQ(count(made.parts[1], "_UnpackValues"), 1);
  // What is known of the shapes stays known.
  const Graph& there = made.parts[1].step.graph;
  EXPECT_EQ(there.shape({*there.find("y"), 0}).to_string(), "[2]");
}

TEST(PackedTransfers, NoneWhereATaskDoesNotKnowTheOps) {
  const Cut made = cut(kTwoValues, false);
  EXPECT_EQ(made.stats.messages, 2);
  EXPECT_EQ(count(made.parts[0], "_PackValues"), 0);
}

// The second value needs what the first one becomes elsewhere: one message of both would wait for itself.
TEST(PackedTransfers, AValueThatComesBackIsDeeper) {
  const Cut made = cut(R"(
    x = _Arg [T=float, index=0, shape=shape[2]] @A
    n = Neg(x) @A
    p = Abs(n) @B
    q = Exp(p) @A
    y = Add(p, q) @B
    -> y)");
  EXPECT_EQ(made.stats.values, 3);
  EXPECT_EQ(made.stats.messages, 3);
}

// A dequeue may wait until another step, or this one's other part, has put something in.
TEST(PackedTransfers, WhatWaitsIsNotMixedWithWhatDoesNot) {
  const Cut made = cut(R"(
    x = _Arg [T=float, index=0, shape=shape[2]] @A
    q = FIFOQueueV2 [component_types=[float], shapes=[shape[2]], capacity=1] @A
    d = QueueDequeueV2(q) [component_types=[float]] @A
    n = Neg(x) @A
    m = Abs(d) @A
    k = Exp(d) @A
    y = AddN(n, m, k) @B
    -> y)");
  EXPECT_EQ(made.stats.values, 3);
  EXPECT_EQ(made.stats.messages, 2);  // those after the dequeue share one
}

TEST(PackedTransfers, LargeValuesAndUnknownShapesCrossAlone) {
  const Cut made = cut(R"(
    x = _Arg [T=float, index=0, shape=shape[20000]] @A
    u = _Arg [T=float, index=1] @A
    n = Neg(x) @A
    m = Abs(x) @A
    k = Neg(u) @A
    j = Abs(u) @A
    y = Add(n, m) @B
    z = Add(k, j) @B
    -> y, z)");
  EXPECT_EQ(made.stats.values, 4);
  EXPECT_EQ(made.stats.messages, 4);
}

TEST(PackedTransfers, AMessageHasALimit) {
  std::string text = "x = _Arg [T=float, index=0, shape=shape[16384]] @A\n";  // 64 KiB
  for (int i = 0; i < 33; ++i) text += str_cat("n", i, " = Neg(x) @A\ny", i, " = Abs(n", i, ") @B\n");
  text += "-> ";
  for (int i = 0; i < 33; ++i) text += str_cat(i > 0 ? ", " : "", "y", i);
  EXPECT_EQ(cut(text).stats.messages, 3);  // 16, 16 and one
}

}  // namespace
}  // namespace argosy
