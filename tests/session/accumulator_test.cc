// Accumulators between the steps of a session, and what synchronous training makes of them.
#include "argosy/ops/accumulator/accumulator.h"

#include <gtest/gtest.h>

#include <barrier>
#include <thread>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/queue/queue.h"
#include "argosy/runtime/session/session.h"
#include "argosy/testing/op_cases/op_case.h"
#include "tests/session/support/test_session.h"

namespace argosy {
namespace {

class Accumulators : public testing::Test {
 protected:
  Value step(std::int64_t n) { return constant(graph_, n); }
  Value count(std::int32_t n) { return constant(graph_, n); }
  Value floats(std::initializer_list<float> v) { return constant(graph_, Tensor::vector<float>(v)); }
  Result<std::vector<Tensor>> run(const std::vector<Value>& fetches) {
    if (!graph_.status().ok()) return graph_.status();
    if (!session_) session_ = std::make_unique<TestSession>(graph_, SessionOptions{});
    return session_->run(fetches);
  }
  void expect(const std::vector<Value>& fetches, const std::vector<Tensor>& expected) {
    const auto out = run(fetches);
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(difference((*out)[i], expected[i], 0), "");
  }
  Graph graph_;
  std::unique_ptr<TestSession> session_;
};

TEST_F(Accumulators, ByHandleAndByReference) {
  for (const char* kind : {"Resource", ""}) {
    SCOPED_TRACE(kind);
    const auto op = [&](const char* name) { return str_cat(kind, name); };
    const Value a =
        graph_.add(op("ConditionalAccumulator"), {}, {{"dtype", DType::kFloat32}, {"shape", PartialShape{2}}});
    const Value apply = accumulator_apply(a, step(0), floats({2, 4})),
                stale = accumulator_apply(a, step(-1), floats({9, 9}));
    const Value set = accumulator_set_step(a, step(3)), number = accumulator_count(a);
    const Value late = accumulator_apply(a, step(3), floats({4, 8}));
    const Value mean = accumulator_take(a, count(2), DType::kFloat32);
    ASSERT_TRUE(run({apply}).ok());
    ASSERT_TRUE(run({stale}).ok());
    expect({number}, {Tensor::scalar(std::int32_t{1})});
    ASSERT_TRUE(run({set}).ok());
    ASSERT_TRUE(run({apply}).ok());
    ASSERT_TRUE(run({late}).ok());
    expect({mean}, {Tensor::vector<float>({3, 6})});
    expect({number}, {Tensor::scalar(std::int32_t{0})});
  }
}

TEST_F(Accumulators, Rows) {
  const Value a = sparse_accumulator(graph_, {.shape = {PartialShape::kUnknown, 1}}, "rows");
  const Value indices = constant(graph_, Tensor::vector<std::int64_t>({1, 4}));
  const Value rows = constant(graph_, Tensor::of<float>({2, 1}, {10, 40}));
  const Value shape = constant(graph_, Tensor::vector<std::int64_t>({9, 1}));
  const Value apply =
      graph_.add("SparseAccumulatorApplyGradient", {a, step(0), indices, rows, shape}, {{"has_known_shape", true}})
          .control();
  const Value sum = graph_.add("SparseAccumulatorTakeGradient", {a, count(1)}, {{"dtype", DType::kFloat32}});
  ASSERT_TRUE(run({apply}).ok());
  expect({sum, sum.output(1), sum.output(2)},
         {Tensor::vector<std::int64_t>({1, 4}), Tensor::of<float>({2, 1}, {10, 40}),
          Tensor::vector<std::int64_t>({-1, 1})});
}

// What SyncReplicasOptimizer does: workers apply and wait for a token, the chief takes the mean and hands tokens out.
TEST_F(Accumulators, WorkersAndAChief) {
  constexpr int kWorkers = 3, kSteps = 20;
  const Value a = accumulator(graph_, {.shape = {1}}, "mean");
  const std::vector<DType> ints = {DType::kInt64};
  const Value tokens = fifo_queue(graph_, {.dtypes = ints, .shapes = {PartialShape::scalar()}}, "tokens");
  const Value at = placeholder(graph_, DType::kInt64, PartialShape::scalar());
  const Value gradient = placeholder(graph_, DType::kFloat32, {1});
  const Value apply = accumulator_apply(a, at, gradient), token = dequeue(tokens, ints)[0];
  const Value mean = accumulator_take(a, count(kWorkers), DType::kFloat32);
  const Value now = placeholder(graph_, DType::kInt64, {kWorkers});
  const Value hand_out = enqueue_many(tokens, {now});
  ASSERT_TRUE(graph_.status().ok()) << graph_.status().to_string();
  TestSession session(graph_, {});
  std::vector<std::thread> workers;
  std::barrier everybody_has_one(kWorkers);  // else a fast worker takes another's token, whose gradient is then missing
  for (int w = 0; w < kWorkers; ++w) {
    workers.emplace_back([&, w] {
      std::int64_t local = 0;
      for (int i = 0; i < kSteps; ++i) {
        const Tensor g = Tensor::vector<float>({static_cast<float>(w + 1)});
        EXPECT_TRUE(session.run({{at, Tensor::scalar(local)}, {gradient, g}}, {}, {apply}).ok());
        const auto next = session.run({token});
        ASSERT_TRUE(next.ok()) << next.status().to_string();
        local = *next->at(0).data<std::int64_t>();
        everybody_has_one.arrive_and_wait();
      }
    });
  }
  for (std::int64_t i = 1; i <= kSteps; ++i) {
    const auto out = session.run({mean});
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    EXPECT_EQ(*out->at(0).data<float>(), 2.f);
    EXPECT_TRUE(session.run({{now, Tensor::vector<std::int64_t>({i, i, i})}}, {}, {hand_out}).ok());
  }
  for (std::thread& t : workers) t.join();
}

}  // namespace
}  // namespace argosy
