#include "argosy/ops/barrier/barrier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "argosy/ops/barrier/barrier_state.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/evaluate.h"
#include "argosy/ops/queue/test_operation_end.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

using testing::HasSubstr;

class Barriers : public testing::Test {
 protected:
  Status insert(std::int64_t component, const std::vector<std::string>& keys, std::vector<std::int32_t> values) {
    return barrier_->insert(component, keys, Tensor::vector(values), caller_);
  }
  Ended take(std::int64_t count, bool allow_small_batch = false) {
    Ended taken;
    barrier_->take(count, allow_small_batch, caller_, taken.done());
    EXPECT_EQ(taken.times, 1);
    return taken;
  }
  void expect_sizes(std::int64_t ready, std::int64_t incomplete) {
    EXPECT_EQ(barrier_->ready_size(), ready);
    EXPECT_EQ(barrier_->incomplete_size(), incomplete);
  }

  Cancellation step_;
  const QueueState::Caller caller_{&step_, &host_allocator()};
  std::shared_ptr<BarrierState> barrier_ =
      std::make_shared<BarrierState>("b", std::vector<DType>{DType::kInt32, DType::kInt32},
                                     std::vector<PartialShape>{PartialShape::scalar(), PartialShape::scalar()});
};

TEST_F(Barriers, WholeElementsLeaveInTheOrderOfTheirKeys) {
  EXPECT_TRUE(insert(0, {"a"}, {1}).ok());
  EXPECT_TRUE(insert(0, {"b"}, {2}).ok());
  expect_sizes(0, 2);
  EXPECT_TRUE(insert(1, {"b", "a"}, {20, 10}).ok());
  expect_sizes(2, 0);
  const Ended both = take(2);
  ASSERT_TRUE(both.status.ok()) << both.status.to_string();
  const std::int64_t first = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(difference(both.tuple[0], Tensor::vector<std::int64_t>({first, first + 1}), 0), "");
  EXPECT_EQ(difference(both.tuple[1], Tensor::vector<std::string>({"a", "b"}), 0), "");
  EXPECT_EQ(difference(both.tuple[2], Tensor::vector<std::int32_t>({1, 2}), 0), "");
  EXPECT_EQ(difference(both.tuple[3], Tensor::vector<std::int32_t>({10, 20}), 0), "");
}

TEST_F(Barriers, WhoTakesWaitsUntilTheLastComponentCame) {
  Ended two;
  barrier_->take(2, false, caller_, two.done());
  EXPECT_TRUE(insert(0, {"a", "b"}, {1, 2}).ok());
  EXPECT_TRUE(insert(1, {"a"}, {1}).ok());
  EXPECT_EQ(two.times, 0);
  EXPECT_TRUE(insert(1, {"b"}, {1}).ok());
  EXPECT_EQ(two.times, 1);
  EXPECT_TRUE(two.status.ok()) << two.status.to_string();
  Ended one;
  barrier_->take(1, false, caller_, one.done());
  step_.cancel(cancelled("enough"));
  EXPECT_EQ(one.status.code(), Code::kCancelled);
}

TEST_F(Barriers, AComponentComesOnce) {
  EXPECT_TRUE(insert(0, {"a"}, {1}).ok());
  EXPECT_THAT(insert(0, {"b", "a", "c"}, {1, 2, 3}).message(), HasSubstr("Key a already has a value for component 0"));
  expect_sizes(0, 2);  // "b" came before, "c" did not
  EXPECT_EQ(insert(0, {"c"}, {1, 2}).code(), Code::kInvalidArgument);
  EXPECT_EQ(barrier_->insert(0, {"c"}, Tensor::zeros(DType::kInt32, {1, 3}), caller_).code(), Code::kInvalidArgument);
  EXPECT_EQ(barrier_->insert(0, {"c"}, Tensor::scalar(3), caller_).code(), Code::kInvalidArgument);
}

TEST_F(Barriers, ClosedTheyTakeWhatIsMissingAlone) {
  EXPECT_TRUE(insert(0, {"a", "b"}, {1, 2}).ok());
  EXPECT_TRUE(barrier_->close(false, caller_).ok());
  EXPECT_EQ(barrier_->close(false, caller_).code(), Code::kCancelled);
  EXPECT_EQ(insert(0, {"c"}, {3}).code(), Code::kCancelled);
  EXPECT_TRUE(insert(1, {"a"}, {10}).ok());
  EXPECT_EQ(take(3).status.code(), Code::kOutOfRange) << "more than will ever be";
  EXPECT_TRUE(take(2, true).status.ok()) << "the one there is";
  EXPECT_TRUE(insert(1, {"b"}, {20}).ok());
  EXPECT_TRUE(take(1).status.ok());
  for (const bool small : {false, true}) EXPECT_EQ(take(1, small).status.code(), Code::kOutOfRange);
  EXPECT_EQ(take(0).status.code(), Code::kOutOfRange);
}

TEST_F(Barriers, CancelledTheyDropWhatIsIncomplete) {
  EXPECT_TRUE(insert(0, {"a", "b"}, {1, 2}).ok());
  EXPECT_TRUE(insert(1, {"b"}, {20}).ok());
  EXPECT_TRUE(barrier_->close(true, caller_).ok());
  expect_sizes(1, 0);
  EXPECT_EQ(insert(1, {"a"}, {1}).code(), Code::kCancelled);
  EXPECT_EQ(take(2).status.code(), Code::kOutOfRange);
  EXPECT_TRUE(take(1).status.ok());
}

TEST(BarrierOps, InAGraph) {
  Graph graph;
  const std::vector<DType> dtypes = {DType::kFloat32, DType::kInt32};
  const Value b = barrier(graph, {.dtypes = dtypes, .shapes = {PartialShape{2}, PartialShape::scalar()}});
  const Value keys = constant(graph, Tensor::vector<std::string>({"x", "y"}));
  const Value rows = constant(graph, Tensor::of<float>({2, 2}, {1, 2, 3, 4}));
  const Value first = barrier_insert_many(b, 0, keys, rows);
  Value incomplete, second;
  {
    const auto after = graph.control_dependencies({first});
    incomplete = barrier_incomplete_size(b);
  }
  {
    const auto after = graph.control_dependencies({incomplete});
    second = barrier_insert_many(b, 1, keys, constant(graph, Tensor::vector<std::int32_t>({5, 6})));
  }
  Value ready;
  {
    const auto after = graph.control_dependencies({second});
    ready = barrier_ready_size(b);
  }
  const auto after = graph.control_dependencies({ready});
  const BarrierElements taken = barrier_take_many(b, constant(graph, 2), dtypes);
  Value closed;
  {
    const auto last = graph.control_dependencies({taken.keys});
    const auto closing = graph.control_dependencies({close_barrier(b)});
    closed = graph.add("Identity", {constant(graph, 1)});
  }
  const auto out = evaluate(
      graph, {},
      std::vector<Endpoint>{incomplete.endpoint(), ready.endpoint(), taken.keys.endpoint(),
                            taken.components[0].endpoint(), taken.components[1].endpoint(), closed.endpoint()});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(*(*out)[0].data<std::int32_t>(), 2);
  EXPECT_EQ(*(*out)[1].data<std::int32_t>(), 2);
  EXPECT_EQ(difference((*out)[2], Tensor::vector<std::string>({"x", "y"}), 0), "");
  EXPECT_EQ(difference((*out)[3], Tensor::of<float>({2, 2}, {1, 2, 3, 4}), 0), "");
  EXPECT_EQ(difference((*out)[4], Tensor::vector<std::int32_t>({5, 6}), 0), "");
}

TEST(BarrierOps, RefuseWhatTensorFlowRefuses) {
  const auto refused = [](BarrierSpec spec, const AttrMap& more = {}) {
    Graph graph;
    AttrMap attrs = {{"component_types", spec.dtypes}, {"shapes", spec.shapes}};
    for (const auto& [name, value] : more) attrs.set(name, value);
    const Value b = graph.add("Barrier", {}, attrs);
    const auto out = evaluate(graph, {}, std::vector<Endpoint>{barrier_ready_size(b).endpoint()});
    EXPECT_FALSE(out.ok());
    return out.status().message();
  };
  EXPECT_THAT(refused({.dtypes = {DType::kInt32}}), HasSubstr("shapes must be specified"));
  EXPECT_THAT(refused({.dtypes = {DType::kInt32}, .shapes = {PartialShape({-1})}}), HasSubstr("not fully defined"));
  EXPECT_THAT(refused({.dtypes = {DType::kInt32}, .shapes = {PartialShape{2}}}, {{"capacity", 3}}),
              HasSubstr("capacity=-1"));
  Graph graph;
  const Value b = barrier(graph, {.dtypes = {DType::kInt32}, .shapes = {PartialShape::scalar()}});
  const Value taken = graph.add("BarrierTakeMany", {b, constant(graph, 1)},
                                {{"component_types", std::vector<DType>{DType::kInt32}}, {"timeout_ms", 5}});
  EXPECT_THAT(evaluate(graph, {}, std::vector<Endpoint>{taken.endpoint()}).status().message(),
              HasSubstr("Timeout not supported yet."));
}

}  // namespace
}  // namespace argosy
