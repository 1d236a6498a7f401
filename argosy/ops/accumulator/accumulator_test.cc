#include "argosy/ops/accumulator/accumulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "argosy/ops/accumulator/accumulator_state.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

using testing::HasSubstr;

struct Taken {
  int times = 0;
  Status status;
  std::vector<Tensor> tensors;
  auto done() {
    return [this](Status s, std::vector<Tensor> t) {
      ++times;
      status = std::move(s);
      tensors = std::move(t);
    };
  }
};

Tensor floats(std::initializer_list<float> v) { return Tensor::vector<float>(v); }

TEST(Accumulator, MeanOfEnoughThatAreNotStale) {
  const auto a = std::make_shared<DenseAccumulator>("a", AccumulatorOptions{.shape = {2}});
  Cancellation step;
  Taken mean;
  a->take(2, &step, mean.done());
  ASSERT_TRUE(a->add(0, floats({1, 2})).ok());
  EXPECT_EQ(mean.times, 0);
  EXPECT_EQ(a->count(), 1);
  ASSERT_TRUE(a->add(3, floats({3, 5})).ok());
  ASSERT_EQ(mean.times, 1);
  EXPECT_EQ(difference(mean.tensors[0], floats({2, 3.5}), 0), "");
  EXPECT_EQ(a->count(), 0);
  ASSERT_TRUE(a->add(0, floats({9, 9})).ok());  // the step is 1 by now
  EXPECT_EQ(a->count(), 0);
  EXPECT_THAT(a->add(1, floats({9})).message(), HasSubstr("Shape mismatch: expected [2], got [1]"));
}

TEST(Accumulator, WaitsInLineAndEndsWhenCancelled) {
  const auto a = std::make_shared<DenseAccumulator>("a", AccumulatorOptions{.sum = true});
  Cancellation step, other;
  Taken three, one;
  a->take(3, &step, three.done());
  a->take(1, &other, one.done());
  ASSERT_TRUE(a->add(0, floats({1})).ok());
  EXPECT_EQ(one.times, 0);  // the first in line has not enough yet
  step.cancel(cancelled("enough"));
  EXPECT_EQ(three.status.code(), Code::kCancelled);
  ASSERT_EQ(one.times, 1);
  EXPECT_EQ(difference(one.tensors[0], floats({1}), 0), "");
  Taken never;
  a->take(1, nullptr, never.done());
  EXPECT_EQ(never.status.code(), Code::kFailedPrecondition);
}

TEST(Accumulator, RowsByIndex) {
  const auto a = std::make_shared<SparseAccumulator>("a", AccumulatorOptions{.shape = {PartialShape::kUnknown, 1}});
  const auto add = [&](std::initializer_list<std::int64_t> indices, std::initializer_list<float> rows) {
    const Tensor values = floats(rows);
    return a->add(0, Tensor::vector<std::int64_t>(indices), values.reshaped({values.elements(), 1}), nullptr);
  };
  ASSERT_TRUE(add({1, 4}, {10, 40}).ok());
  ASSERT_TRUE(add({0, 4, 5}, {0, 44, 50}).ok());
  Cancellation step;
  Taken mean;
  a->take(2, &step, mean.done());
  ASSERT_EQ(mean.times, 1);
  EXPECT_EQ(difference(mean.tensors[0], Tensor::vector<std::int64_t>({0, 1, 4, 5}), 0), "");
  EXPECT_EQ(difference(mean.tensors[1], floats({0, 10, 42, 50}).reshaped({4, 1}), 0), "");
  EXPECT_EQ(difference(mean.tensors[2], Tensor::vector<std::int64_t>({-1, 1}), 0), "");
  EXPECT_EQ(add({1, 2}, {1}).code(), Code::kInvalidArgument);
}

// Its shape names the first axes: SyncReplicasOptimizer makes accumulators of shape [] for rows of a table.
TEST(Accumulator, RowsOfMoreAxesThanItsShape) {
  const Tensor two = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
  const auto add = [&](PartialShape shape, std::vector<std::int64_t> indices, const Tensor* given = nullptr) {
    const auto a = std::make_shared<SparseAccumulator>("a", AccumulatorOptions{.shape = std::move(shape)});
    return a->add(0, Tensor::vector<std::int64_t>(indices), two, given);
  };
  const Tensor sizes = Tensor::vector<std::int64_t>({4, 2});
  for (const Tensor* given : {static_cast<const Tensor*>(nullptr), &sizes}) {
    EXPECT_TRUE(add(PartialShape::scalar(), {0, 3}, given).ok());
    EXPECT_TRUE(add({4}, {0, 3}, given).ok());
    EXPECT_THAT(add({4, 2, 2}, {0, 3}, given).message(), HasSubstr("rank at least 3, got 2"));
  }
  EXPECT_THAT(add({4}, {0, 4}).message(),
              HasSubstr("index of slice 1 exceeded limits of shape; index is 4 exceeded 4"));
}

TEST(Accumulator, HandlesAndShapes) {
  Graph g;
  const Value a = accumulator(g, {.shape = {2}}, "a");
  const Value step = constant(g, std::int64_t{0});
  EXPECT_EQ(accumulator_count(a).shape().to_string(), "[]");
  EXPECT_TRUE(accumulator_apply(a, step, constant(g, floats({1, 2}))).valid());
  EXPECT_TRUE(accumulator_set_step(a, step).valid());
  EXPECT_TRUE(accumulator_take(a, constant(g, std::int32_t{1}), DType::kFloat32).valid());
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  const Value rows = sparse_accumulator(g, {.shape = {2}}, "rows");
  g.add("SparseAccumulatorTakeGradient", {rows, constant(g, floats({1}))}, {{"dtype", DType::kFloat32}});
  EXPECT_EQ(g.status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace argosy
