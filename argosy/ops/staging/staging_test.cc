#include "argosy/ops/staging/staging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/evaluate.h"
#include "argosy/ops/staging/staged.h"
#include "argosy/ops/staging/wait_queue.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

using testing::HasSubstr;

using StagingArea = WaitQueue<StagedTuples>;

struct Ended {
  int times = 0;
  Status status;
  StagingArea::Done done() {
    return [this](Status s) {
      ++times;
      status = std::move(s);
    };
  }
};

StagingArea::TryComplete put(std::int32_t n, StagingLimits limits = {}) {
  return [values = std::make_shared<Tuple>(Tuple{Tensor::scalar(n)}), limits](StagedTuples& held) {
    return held.put(*values, limits);
  };
}
StagingArea::TryComplete take(Tuple& to) {
  return [&to](StagedTuples& held) { return held.take(to); };
}

TEST(Staging, WhoTakesWaitsForWhatComes) {
  const auto area = std::make_shared<StagingArea>("area");
  Cancellation step;
  Ended first, second, in;
  Tuple one, two;
  area->start(take(one), &step, first.done());
  area->start(take(two), &step, second.done());
  EXPECT_EQ(first.times, 0);
  area->start(put(7), &step, in.done());
  EXPECT_EQ(in.times, 1);
  ASSERT_EQ(first.times, 1);
  EXPECT_EQ(*one[0].data<std::int32_t>(), 7);
  EXPECT_EQ(second.times, 0);
  step.cancel(cancelled("enough"));
  EXPECT_EQ(second.times, 1);
  EXPECT_EQ(second.status.code(), Code::kCancelled);
  Ended outside;
  area->start(take(two), nullptr, outside.done());
  EXPECT_EQ(outside.status.code(), Code::kFailedPrecondition);
}

TEST(Staging, WhoPutsWaitsForRoom) {
  const auto area = std::make_shared<StagingArea>("area");
  Cancellation step;
  Ended first, second, out;
  Tuple got;
  area->start(put(1, {.capacity = 1}), &step, first.done());
  area->start(put(2, {.capacity = 1}), &step, second.done());
  EXPECT_EQ(first.times, 1);
  EXPECT_EQ(second.times, 0);
  area->start(take(got), &step, out.done());
  EXPECT_EQ(*got[0].data<std::int32_t>(), 1);
  EXPECT_EQ(second.times, 1);
  Ended small, large, never;
  area->start(put(3, {.bytes = 8}), &step, small.done());
  area->start(put(4, {.bytes = 8}), &step, large.done());
  EXPECT_EQ(small.times, 1);
  EXPECT_EQ(large.times, 0) << "8 bytes are there";
  area->start(put(5, {.bytes = 3}), &step, never.done());
  EXPECT_EQ(never.status.code(), Code::kResourceExhausted);
  EXPECT_EQ(area->now([](StagedTuples& held) { return held.size(); }), 2);
  area->now([](StagedTuples& held) {
    held.clear();
    return 0;
  });
  EXPECT_EQ(large.times, 1);
  step.cancel(cancelled("over"));
}

TEST(Staging, KeysAreFilledAndEmptiedInParts) {
  StagedMap map;
  const auto values = [](std::initializer_list<std::int32_t> numbers) {
    Tuple tuple;
    for (const std::int32_t n : numbers) tuple.push_back(Tensor::scalar(n));
    return tuple;
  };
  const auto add = [&](std::int64_t key, const std::vector<std::int64_t>& at, Tuple tuple, StagingLimits limits = {}) {
    return map.put(key, at, tuple, 2, limits);
  };
  EXPECT_TRUE(add(5, {1}, values({51}))->ok());
  EXPECT_EQ(map.incomplete(), 1);
  EXPECT_EQ(add(5, {1}, values({51}))->code(), Code::kInvalidArgument) << "it is there";
  EXPECT_EQ(add(5, {2}, values({52}))->code(), Code::kInvalidArgument);
  EXPECT_EQ(add(5, {1, 0}, values({1, 2}))->code(), Code::kInvalidArgument);
  Tuple got;
  EXPECT_FALSE(map.get(5, {0}, false, got)) << "not complete";
  EXPECT_FALSE(add(6, {0}, values({60}), {.capacity = 1})) << "no room";
  EXPECT_TRUE(add(5, {0}, values({50}), {.capacity = 1})->ok()) << "a key that has begun goes on";
  EXPECT_TRUE(add(3, {0, 1}, values({30, 31}))->ok());
  EXPECT_EQ(map.size(), 2);
  EXPECT_TRUE(map.get(5, {1}, false, got)->ok());
  EXPECT_EQ(*got[0].data<std::int32_t>(), 51);
  EXPECT_TRUE(map.get(5, {1}, true, got)->ok());
  EXPECT_EQ(map.get(5, {1}, true, got)->code(), Code::kInvalidArgument) << "it is gone";
  EXPECT_EQ(map.size(), 2);
  std::int64_t key = 0;
  EXPECT_TRUE(map.take_any({0, 1}, key, got)->ok());
  EXPECT_EQ(key, 3);
  EXPECT_TRUE(map.get(5, {0}, true, got)->ok());
  EXPECT_EQ(map.size(), 0);
  EXPECT_FALSE(map.take_any({0}, key, got));
}

TEST(Staging, InAGraph) {
  Graph graph;
  const StagingSpec spec{.dtypes = {DType::kInt32, DType::kString}, .shared_name = "a"};
  ResourceManager resources;
  const auto run = [&](const std::vector<Value>& values) {
    std::vector<Endpoint> fetches;
    for (const Value& v : values) fetches.push_back(v.endpoint());
    return evaluate(graph, {}, fetches, {.resources = &resources});
  };
  const Value in = stage(graph, spec, {constant(graph, 4), constant(graph, Tensor::scalar("four"))});
  const Value index = constant(graph, 0);
  const AttrMap attrs = {{"dtypes", spec.dtypes}, {"shared_name", spec.shared_name}};
  const Value peek = graph.add("StagePeek", {index}, attrs), clear = graph.add("StageClear", {}, attrs);
  const Value size = stage_size(graph, spec);
  const std::vector<Value> out = unstage(graph, spec);
  const Value wrong =
      graph.add("Unstage", {}, {{"dtypes", std::vector{DType::kInt32}}, {"shared_name", spec.shared_name}});
  ASSERT_TRUE(graph.status().ok()) << graph.status().to_string();
  ASSERT_TRUE(run({in}).ok());
  ASSERT_TRUE(run({in}).ok());
  EXPECT_EQ(*(*run({size}))[0].data<std::int32_t>(), 2);
  EXPECT_EQ(*(*run({peek.output(0)}))[0].data<std::int32_t>(), 4);
  const auto got = run(out);
  ASSERT_TRUE(got.ok()) << got.status().to_string();
  EXPECT_EQ(*(*got)[1].data<std::string>(), "four");
  EXPECT_THAT(run({wrong}).status().message(), HasSubstr("Mismatch stage/unstage: 2 vs. 1"));
  ASSERT_TRUE(run({in}).ok());
  ASSERT_TRUE(run({clear}).ok());
  EXPECT_EQ(*(*run({size}))[0].data<std::int32_t>(), 0);
  EXPECT_EQ(run(out).status().code(), Code::kFailedPrecondition) << "nothing to wait for outside a step";
}

TEST(Staging, MapsInAGraph) {
  for (const std::string kind : {"Map", "OrderedMap"}) {
    Graph graph;
    ResourceManager resources;
    const std::vector<DType> both = {DType::kInt32, DType::kFloat32};
    const auto attrs = [](std::vector<DType> dtypes) {
      return AttrMap{{"dtypes", dtypes}, {"shared_name", std::string("m")}};
    };
    const auto run = [&](Value v) { return evaluate(graph, {}, {v.endpoint()}, {.resources = &resources}); };
    const auto indices = [&](std::initializer_list<std::int32_t> v) { return constant(graph, Tensor::vector(v)); };
    const auto put = [&](std::int64_t key, Value at, const std::vector<Value>& values) {
      std::vector<Value> inputs = {constant(graph, key), at};
      inputs.insert(inputs.end(), values.begin(), values.end());
      return graph.add(kind + "Stage", inputs, attrs(both));
    };
    const Value key = constant(graph, std::int64_t{9});
    const Value whole = put(9, indices({0, 1}), {constant(graph, 1), constant(graph, 2.0f)});
    const Value part = put(8, indices({1}), {constant(graph, 2.5f)});
    const Value size = graph.add(kind + "Size", {}, attrs(both));
    const Value incomplete = graph.add(kind + "IncompleteSize", {}, attrs(both));
    const Value peek = graph.add(kind + "Peek", {key, indices({1})}, attrs({DType::kFloat32}));
    const Value first = graph.add(kind + "Unstage", {key, indices({0})}, attrs({DType::kInt32}));
    const Value rest = graph.add(kind + "UnstageNoKey", {indices({1})}, attrs({DType::kFloat32}));
    const Value clear = graph.add(kind + "Clear", {}, attrs(both));
    ASSERT_TRUE(graph.status().ok()) << graph.status().to_string();
    ASSERT_TRUE(run(whole).ok());
    ASSERT_TRUE(run(part).ok());
    EXPECT_EQ(*(*run(size))[0].data<std::int32_t>(), 1);
    EXPECT_EQ(*(*run(incomplete))[0].data<std::int32_t>(), 1);
    EXPECT_EQ(*(*run(peek))[0].data<float>(), 2.0f);
    EXPECT_EQ(*(*run(first))[0].data<std::int32_t>(), 1);
    EXPECT_EQ(*(*run(rest.output(0)))[0].data<std::int64_t>(), 9);
    EXPECT_EQ(*(*run(size))[0].data<std::int32_t>(), 0);
    ASSERT_TRUE(run(clear).ok());
    EXPECT_EQ(*(*run(incomplete))[0].data<std::int32_t>(), 0);
  }
}

}  // namespace
}  // namespace argosy
