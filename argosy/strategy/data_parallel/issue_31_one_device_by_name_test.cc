// Issue 31: on two devices these steps gave other numbers than on one, without a word, since an op in no list was taken
// to treat the examples of a batch apart. DataParallel (and so Trainer) names the node, or finds the global batch's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "argosy/graph/gradients.h"
#include "argosy/ops/cast/cast.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/control_flow/control_flow.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/shape/shape.h"
#include "argosy/ops/state/state.h"
#include "argosy/strategy/data_parallel/data_parallel.h"

namespace argosy {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

struct OneDeviceByName : testing::Test {
  Graph g;
  Value x = placeholder(g, DType::kFloat32, {-1, 4}, "x"), y = placeholder(g, DType::kInt32, {-1}, "y");
  VariableNode w = variable(g, Tensor::zeros(DType::kFloat32, {4}), "w");
  Value h = x * w.read;
  Value count = index(shape(x), {std::int64_t{0}});

  Result<DataParallel> train(Value loss) {
    EXPECT_TRUE(loss.valid()) << g.status().to_string();
    const std::vector<Value> slopes = gradients(g, {loss}, {w.read});
    EXPECT_TRUE(slopes[0].valid()) << g.status().to_string();
    const Value step = g.add("ApplyGradientDescent", {w.ref, constant(g, 0.1f), slopes[0]});
    return DataParallel::make(g, {.devices = {"/device:GPU:0", "/device:GPU:1"}, .losses = {loss}, .train = {step}});
  }
  void refuses(Value loss, const std::string& what) {
    const auto made = train(loss);
    EXPECT_EQ(made.status().id(), "ARG-DP-007") << made.status().to_string();
    EXPECT_THAT(made.status().message(), HasSubstr(what));
    EXPECT_THAT(made.status().where(), HasSubstr("node '"));
    EXPECT_THAT(made.status().hint(), HasSubstr("train on one device"));
  }
  Value floats(Value v) { return cast(v, DType::kFloat32); }
};

TEST_F(OneDeviceByName, ABandOfTheBatch) {
  const Value two = constant(g, std::int64_t{2});
  refuses(reduce_mean(square(g.add("MatrixBandPart", {h, two, two}))), "(MatrixBandPart) works along");
}

TEST_F(OneDeviceByName, PositionsLookedUp) {
  const Value range = g.add("Range", {constant(g, 0), count, constant(g, 1)});
  const Value table = constant(g, Tensor::zeros(DType::kFloat32, {9, 4}));
  refuses(reduce_mean(h * g.add("GatherV2", {table, range, constant(g, 0)})), "depends on where in the batch");
}

TEST_F(OneDeviceByName, PositionsOneHot) {
  const Value range = g.add("Range", {constant(g, 0), count, constant(g, 1)});
  refuses(reduce_mean(h * g.add("OneHot", {range, constant(g, 4), constant(g, 1.0f), constant(g, 0.0f)})),
          "(OneHot) depends on where");
}

TEST_F(OneDeviceByName, AnOpThatSaysNothing) {
  const Value places = g.add("HistogramFixedWidth", {x, constant(g, Tensor::vector<float>({0, 1})), constant(g, 4)});
  refuses(reduce_mean(h * floats(places)), "(HistogramFixedWidth) is an op of which it is not known");
}

TEST_F(OneDeviceByName, RowsPairedAcrossExamples) {
  const Value many = g.add("Tile", {h, constant(g, Tensor::vector<std::int32_t>({2, 1}))});
  const Value each = reshape(g.add("Tile", {h, constant(g, Tensor::vector<std::int32_t>({1, 2}))}), {-1, 4});
  refuses(reduce_mean(square(many - each)), "of which it cannot be told whose they are");
}

TEST_F(OneDeviceByName, AConditionOnTheLargest) {
  const auto [off, on] = switch_value(h, greater(reduce_max(x), 1.0f));
  refuses(reduce_mean(square(merge({off * 2.0f, on}))), "(Switch) branches on 'Greater");
}

// Of the global batch: the same branch on every device.
TEST_F(OneDeviceByName, NotAConditionOnAMeanOrOnTheSize) {
  for (const Value by : {greater(reduce_mean(x), 0.0f), greater(count, 4)}) {
    const auto [off, on] = switch_value(h, by);
    const Value loss = reduce_mean(square(merge({off * 2.0f, on})));
    const auto made = DataParallel::make(g, {.devices = {"/device:GPU:0", "/device:GPU:1"}, .losses = {loss}});
    EXPECT_TRUE(made.ok()) << made.status().to_string();
  }
}

TEST_F(OneDeviceByName, ValuesThatAreEvaluatedAreComputedFromTheGlobalBatch) {
  const Value along = g.add("Cumsum", {x, constant(g, 0)});
  auto dp = DataParallel::make(g, {.devices = {"/device:GPU:0", "/device:GPU:1"}});
  ASSERT_TRUE(dp.ok()) << dp.status().to_string();
  const auto global = dp->fetch(along);
  ASSERT_TRUE(global.ok()) << global.status().to_string();
  EXPECT_EQ(dp->graph().node(global->node()).op->name, "Cumsum");
}

TEST_F(OneDeviceByName, DrawsOfTheShardsOwnAreTold) {
  const Value drawn =
      g.add("RandomGamma", {constant(g, Tensor::vector<std::int32_t>({4})), exp(index(x, {Slice{}, std::int64_t{0}}))},
            {{"seed", std::int64_t{3}}, {"seed2", std::int64_t{4}}});
  auto dp = DataParallel::make(g, {.devices = {"/device:GPU:0", "/device:GPU:1"}});
  ASSERT_TRUE(dp.ok()) << dp.status().to_string();
  ASSERT_EQ(dp->notes().size(), 1u);
  EXPECT_EQ(dp->notes()[0].kind, ReplicationNote::Kind::kDraws);
  EXPECT_EQ(dp->notes()[0].node, drawn.node_name());
  EXPECT_EQ(dp->notes()[0].text,
            str_cat("'", drawn.node_name(), "' (RandomGamma): draws depend on the number of devices"));
  EXPECT_THAT(dp->summary(), HasSubstr("draws depend on the number of devices: 'RandomGamma' (RandomGamma)"));
  const auto alone = DataParallel::make(g, {.devices = {"/device:GPU:0"}});
  ASSERT_TRUE(alone.ok()) << alone.status().to_string();
  EXPECT_THAT(alone->notes(), IsEmpty());
}

}  // namespace
}  // namespace argosy
