// Replicated steps with loops in dataflow form, as TensorFlow 1.x writes them: the same on any number of devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/shape/shape.h"
#include "argosy/ops/state/state.h"
#include "argosy/runtime/session/session.h"
#include "argosy/strategy/data_parallel/data_parallel.h"
#include "argosy/testing/loop.h"
#include "argosy/testing/op_cases/op_case.h"
#include "tests/session/support/test_session.h"

namespace argosy {
namespace {

using testing::Contains;
using testing::HasSubstr;

constexpr int kSteps = 3;
constexpr std::int64_t kBatch = 7, kWidth = 4;

// w * x passes a loop that halves it three times. The loss is a weighted mean of its squares: the gradient divides
// by the sum of the weights, and adds up over the examples in a loop of its own.
struct Recurrent {
  Graph g;
  VariableNode w = variable(g, random_tensor(DType::kFloat64, {kWidth}, 3), "w");
  Value x = placeholder(g, DType::kFloat64, {-1, kWidth}, "x");
  Value weights = reduce_sum(x, 1);
  Value weight = reduce_sum(weights);
  Value out = DataflowLoop(
                  g, x* w.read, [](Value v) { return v * 0.5; }, "forward")
                  .out;
  Value loss = reduce_sum(reduce_sum(square(out), 1) * weights) / weight;
  Value slope;
  std::vector<Value> train, before = {w.initializer}, after = {w.read};

  Recurrent() {
    const Value rows = out * reshape(weights, {-1, 1}) * (2 * 0.125 / 3) / weight;
    const Value entered = DataflowLoop::enter(g, rows, "backward"), with = DataflowLoop::enter(g, x, "backward");
    const auto turn = [&](Value sum) { return sum + reduce_sum(entered * with, 0); };
    slope = DataflowLoop(g, constant(g, Tensor::zeros(DType::kFloat64, {kWidth})), turn, "backward").out;
    train = {g.add("ApplyGradientDescent", {w.ref, constant(g, 0.5), slope})};
  }

  struct Ran {
    std::vector<Tensor> values;  // the losses, then what `after` reads
    std::string summary;
    std::vector<std::string> passes;
  };
  Result<Ran> run(int devices, int shards = 0, int accumulate = 1) {
    ARGOSY_RETURN_IF_ERROR(Status(g.status()));
    DataParallelOptions options{.losses = {loss}, .train = train, .shards = shards, .accumulate = accumulate};
    for (int d = 0; d < devices; ++d) options.devices.push_back(str_cat("/device:GPU:", d));
    ARGOSY_ASSIGN_OR_RETURN(DataParallel dp, DataParallel::make(g, options));
    TestSession session(dp.graph(), {.devices = {.devices = str_cat(devices), .emulate = str_cat(devices)}});
    for (const Value v : before) ARGOSY_RETURN_IF_ERROR(session.run_targets({dp.target(v)}));
    ARGOSY_ASSIGN_OR_RETURN(const Value global, dp.fetch(loss));
    std::vector<Value> targets;
    for (const Value v : train) targets.push_back(dp.target(v));
    Ran ran{.values = {}, .summary = dp.summary(), .passes = {}};
    ARGOSY_ASSIGN_OR_RETURN(const auto report, session.placement({{dp.input(x), {kBatch, kWidth}}}, {global}, targets));
    ran.passes = report.passes;
    for (int i = 0; i < kSteps; ++i) {
      const Feeds feeds = {{dp.input(x), random_tensor(DType::kFloat64, {kBatch, kWidth}, 20 + i, 0.1, 1)}};
      ARGOSY_ASSIGN_OR_RETURN(const auto got, session.run(feeds, {global}, targets));
      ran.values.push_back(got[0]);
    }
    std::vector<Value> reads;
    for (const Value v : after) reads.push_back(dp.input(v));
    ARGOSY_ASSIGN_OR_RETURN(const auto got, session.run(reads));
    ran.values.insert(ran.values.end(), got.begin(), got.end());
    return ran;
  }
};

TEST(DataParallelLoops, ASumMayStandBetweenThem) {
  Recurrent alone;
  const auto expected = alone.run(1);
  ASSERT_TRUE(expected.ok()) << expected.status().to_string();
  EXPECT_NE(difference(expected->values[0], expected->values[kSteps - 1], 1e-3), "") << "it learns";
  for (const int devices : {2, 3, 4}) {
    Recurrent many;
    const auto got = many.run(devices);
    ASSERT_TRUE(got.ok()) << devices << ": " << got.status().to_string();
    // The weight first, since the loop whose sum is the gradient waits for it: they are no bucket.
    EXPECT_THAT(got->summary, HasSubstr("2 all-reduces")) << devices;
    EXPECT_THAT(got->passes, Contains(HasSubstr("order: static; "))) << devices;
    for (std::size_t i = 0; i < expected->values.size(); ++i) {
      EXPECT_EQ(difference(got->values[i], expected->values[i], 1e-12), "") << devices << " devices, value " << i;
    }
  }
}

TEST(DataParallelLoops, ASumThatWouldWaitForItselfIsRefused) {
  Recurrent r;
  r.g.set_input(r.weight.node(), 0, (r.weights * reduce_sum(r.slope)).endpoint());
  const auto ran = r.run(2);
  EXPECT_EQ(ran.status().id(), "ARG-DP-003") << ran.status().to_string();
}

// A counter that a loop adds to in every iteration sums over the devices in every iteration; what is summed outside is no part
// of that.
TEST(DataParallelLoops, SumsInThemAreTheirOwn) {
  const auto counted = [](int devices, int accumulate, std::vector<Tensor>& values) -> Status {
    Recurrent r;
    const VariableNode total =
        variable(r.g, Tensor::zeros(DType::kFloat64, {}), "total", {.kind = VariableKind::kResource});
    const Value handle = DataflowLoop::enter(r.g, total.ref, "count"), rows = DataflowLoop::enter(r.g, r.x, "count");
    const DataflowLoop loop(
        r.g, constant(r.g, 0.0),
        [&](Value v) {
          const auto after = r.g.control_dependencies({v});
          const auto then = r.g.control_dependencies({r.g.add("AssignAddVariableOp", {handle, reduce_sum(rows)})});
          return identity(v);
        },
        "count");
    r.train.push_back(loop.out);
    r.before.push_back(total.initializer);
    r.after.push_back(total.read);
    ARGOSY_ASSIGN_OR_RETURN(const Recurrent::Ran ran, r.run(devices, 0, accumulate));
    values = ran.values;
    return ok_status();
  };
  std::vector<Tensor> expected, got;
  const Status alone = counted(1, 1, expected);
  ASSERT_TRUE(alone.ok()) << alone.to_string();
  const Status two = counted(2, 1, got);
  ASSERT_TRUE(two.ok()) << two.to_string();
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(difference(got[i], expected[i], 1e-12), "") << i;
  // Two shards of one device are in two frames, which do not meet.
  const Status turns = counted(2, 2, got);
  EXPECT_EQ(turns.id(), "ARG-DP-003") << turns.to_string();
  EXPECT_THAT(turns.message(), HasSubstr("it is summed over shards there"));
}

// Each shard goes through loops of its own, predicates included, be it the only one of its device or not.
TEST(DataParallelLoops, EveryShardOfADeviceHasItsOwn) {
  Recurrent alone;
  const auto expected = alone.run(1);
  ASSERT_TRUE(expected.ok()) << expected.status().to_string();
  for (const auto& [devices, shards, accumulate] :
       {std::tuple{1, 0, 2}, {1, 0, 4}, {2, 0, 3}, {3, 0, 2}, {1, 8, 1}, {2, 8, 1}, {3, 8, 1}, {4, 8, 2}}) {
    Recurrent many;
    const auto got = many.run(devices, shards, accumulate);
    const std::string what = str_cat(devices, " devices, ", shards, " shards, accumulate=", accumulate);
    ASSERT_TRUE(got.ok()) << what << ": " << got.status().to_string();
    EXPECT_THAT(got->passes, Contains(HasSubstr("order: static; "))) << what;
    for (std::size_t i = 0; i < expected->values.size(); ++i) {
      EXPECT_EQ(difference(got->values[i], expected->values[i], 1e-12), "") << what << ", value " << i;
    }
  }
}

TEST(DataParallelLoops, ReproducibleOnesAreDeterministic) {
  Recurrent alone;
  const auto expected = alone.run(1, 8);
  ASSERT_TRUE(expected.ok()) << expected.status().to_string();
  for (const int devices : {2, 3, 4, 8}) {
    Recurrent many;
    const auto got = many.run(devices, 8);
    ASSERT_TRUE(got.ok()) << devices << ": " << got.status().to_string();
    for (std::size_t i = 0; i < expected->values.size(); ++i) {
      EXPECT_EQ(difference(got->values[i], expected->values[i], 0), "") << devices << " devices, value " << i;
    }
  }
}

}  // namespace
}  // namespace argosy
