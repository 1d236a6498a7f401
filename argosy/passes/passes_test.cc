#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/ops.h"
#include "argosy/passes/bypass.h"
#include "argosy/passes/fold.h"
#include "argosy/passes/merge_equal.h"
#include "argosy/passes/optimize.h"
#include "argosy/passes/place.h"

namespace argosy {
namespace {

std::vector<std::string> ops_of(const Graph& g) {
  std::vector<std::string> ops;
  for (const Node& n : g.nodes()) ops.push_back(n.op->name);
  return ops;
}

DeviceSpec device(const char* name) { return {.name = DeviceName::parse(name).value()}; }

std::vector<DeviceSpec> one_cpu_two_gpus() {
  return {device("/job:localhost/replica:0/task:0/device:CPU:0"),
          device("/job:localhost/replica:0/task:0/device:GPU:0"),
          device("/job:localhost/replica:0/task:0/device:GPU:1")};
}

TEST(Extract, CutsAtFeedsAndKeepsControlEdges) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 2}, "x");
  const Value side = g.add("NoOp", {}, {}, "side");
  const Value a = identity(x, "a");
  const Value b = with_dependencies({side}, a, "b");
  identity(x, "unused");
  const auto step = extract_step(g, {.feeds = {a.endpoint()}, .feed_shapes = {Shape{3, 2}}, .fetches = {b.endpoint()}});
  ASSERT_TRUE(step.ok()) << step.status().to_string();
  EXPECT_THAT(ops_of(step->graph), testing::UnorderedElementsAre("_Arg", "NoOp", "Identity"));
  EXPECT_EQ(step->graph.shape(step->fetches[0]).to_string(), "[3,2]");
}

//  Const ─► Identity ─► OnesLike     ──►     Const
TEST(Fold, ComputesWhatIsKnown) {
  Graph g;
  const Value y = ones_like(identity(constant(g, Tensor::vector<float>({1, 2}))));
  auto step = extract_step(g, {.fetches = {y.endpoint()}});
  const auto lean = prepare_step(*std::move(step), {});
  ASSERT_TRUE(lean.ok()) << lean.status().to_string();
  EXPECT_THAT(ops_of(lean->graph), testing::ElementsAre("Const"));
  EXPECT_EQ(lean->graph.constant(lean->fetches[0])->data<float>()[1], 1);
}

TEST(Fold, LeavesEffectsAlone) {
  Graph g;
  const Value side = g.add("NoOp", {});
  const Value y = with_dependencies({side}, constant(g, 1.0f));
  auto step = extract_step(g, {.fetches = {y.endpoint()}});
  EXPECT_EQ(*fold_constants(*step), 0);
}

//  x ─► Sum over no axis ─► Reshape to its own shape ─► Neg     ──►     x ─► Neg
TEST(Bypass, NodesThatChangeNothingGo) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {2, 3}, "x");
  const Value none = constant(g, Tensor::vector<std::int32_t>(std::vector<std::int32_t>{}));
  const Value sum = g.add("Sum", {x, none});
  const Value same = g.add("Reshape", {sum, constant(g, Tensor::vector<std::int32_t>({2, 3}))});
  const Value y = g.add("Neg", {same});
  const Value flat = g.add("Reshape", {sum, constant(g, Tensor::vector<std::int32_t>({6}))});
  auto step = extract_step(g, {.fetches = {y.endpoint(), sum.endpoint(), flat.endpoint()}});
  ASSERT_TRUE(step.ok());
  EXPECT_EQ(*bypass_identities(*step), 2);
  ASSERT_TRUE(drop_dead_nodes(*step).ok());
  EXPECT_THAT(ops_of(step->graph), testing::UnorderedElementsAre("Placeholder", "Neg", "Const", "Reshape"));
  EXPECT_EQ(step->graph.node(step->fetches[1].node).name, "x");
}

TEST(Bypass, KeepsWhatOrdersOrIsWaitedFor) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {2, 3}, "x");
  const Value none = constant(g, Tensor::vector<std::int32_t>(std::vector<std::int32_t>{}));
  const Value before = g.add("NoOp", {});
  Value late;
  {
    const auto after = g.control_dependencies({before});
    late = g.add("Sum", {x, none});
  }
  const Value waited = g.add("Sum", {x, none});
  const Value y = with_dependencies({waited}, late);
  auto step = extract_step(g, {.fetches = {y.endpoint()}});
  ASSERT_TRUE(step.ok());
  EXPECT_EQ(*bypass_identities(*step), 0);
}

TEST(MergeEqual, KeepsOneOfTwins) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {2}, "x");
  const Value a = zeros_like(identity(x));
  const Value b = zeros_like(identity(x));
  Value c;
  {
    const auto on = g.device("/gpu:1");
    c = zeros_like(identity(x));
  }
  auto step = extract_step(g, {.fetches = {a.endpoint(), b.endpoint(), c.endpoint()}});
  EXPECT_EQ(*merge_equal_nodes(*step), 2);
  EXPECT_EQ(step->fetches[0], step->fetches[1]);
  EXPECT_NE(step->fetches[0], step->fetches[2]);
}

TEST(Place, AskedDefaultAndMoved) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {2}, "x");
  const Value plain = identity(x, "plain");
  Value asked, impossible;
  {
    const auto on = g.device("/gpu:1");
    asked = identity(x, "asked");
    impossible = zeros_like(x);
  }
  const PlaceOptions options{.devices = one_cpu_two_gpus(), .has_kernel = [](const OpDef& op, const DeviceSpec& d) {
                               return !d.is_gpu() || op.name != "ZerosLike";
                             }};
  const auto placed = place(g, options);
  ASSERT_TRUE(placed.ok()) << placed.status().to_string();
  EXPECT_EQ(placed->device[plain.node().index], 1);
  EXPECT_EQ(placed->device[asked.node().index], 2);
  EXPECT_EQ(placed->device[impossible.node().index], 0);
  EXPECT_THAT(placed->reason[impossible.node().index], testing::HasSubstr("no kernel"));
}

TEST(Place, ColocationFollowsTheLeader) {
  Graph g;
  Value leader;
  {
    const auto on = g.device("/gpu:1");
    leader = placeholder(g, DType::kFloat32, {2}, "leader");
  }
  Value follower;
  {
    const auto with = g.colocate_with(leader);
    follower = ones_like(leader);
  }
  const auto placed =
      place(g, {.devices = one_cpu_two_gpus(), .has_kernel = [](const OpDef&, const DeviceSpec&) { return true; }});
  ASSERT_TRUE(placed.ok());
  EXPECT_EQ(placed->device[follower.node().index], 2);
}

TEST(Place, GradientsGoWhereTheirOpWasPut) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {2}, "x");
  Value second;
  {
    const auto on = g.device("/gpu:1");
    second = identity(x, "tower/layer/MatMul");
  }
  const Value first = identity(second, "free/MatMul");
  const Value of_second = identity(first, "train/gradients/tower/layer/MatMul_grad/MatMul_1");
  const Value of_first = identity(second, "gradients/free/MatMul_grad/MatMul");
  const Value of_none = identity(second, "gradients/nothing_grad/MatMul");
  Value pinned;
  {
    const auto on = g.device("/gpu:0");
    pinned = identity(second, "gradients/tower/layer/MatMul_grad/pinned");
  }
  const auto placed =
      place(g, {.devices = one_cpu_two_gpus(), .has_kernel = [](const OpDef&, const DeviceSpec&) { return true; }});
  ASSERT_TRUE(placed.ok());
  EXPECT_EQ(placed->device[of_second.node().index], 2);
  EXPECT_THAT(placed->reason[of_second.node().index], testing::HasSubstr("gradient"));
  EXPECT_EQ(placed->device[of_first.node().index], 1) << "its op was put nowhere";
  EXPECT_EQ(placed->device[of_none.node().index], 1);
  EXPECT_EQ(placed->device[pinned.node().index], 1);
}

TEST(Place, RefusesWithoutSoftPlacement) {
  Graph g;
  {
    const auto on = g.device("/gpu:9");
    placeholder(g, DType::kFloat32, {2}, "x");
  }
  const auto placed = place(g, {.devices = one_cpu_two_gpus(),
                                .has_kernel = [](const OpDef&, const DeviceSpec&) { return true; },
                                .allow_soft_placement = false});
  EXPECT_EQ(placed.status().id(), "ARG-PLACE-001");
  EXPECT_THAT(placed.status().message(), testing::StartsWith("Cannot assign a device for operation x"));
}

}  // namespace
}  // namespace argosy
