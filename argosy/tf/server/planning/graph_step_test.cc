// Plans of graph files: what trains is found, a batch is made up, what cannot be planned is told.
#include "argosy/tf/server/planning/graph_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "argosy/graph/gradients.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/state/state.h"
#include "argosy/testing/op_cases/op_case.h"
#include "argosy/tf/graph/graph_export.h"
#include "argosy/tf/server/planning/graph_plan.h"

namespace argosy::tf {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class GraphStepTest : public testing::Test {
 protected:
  GraphStepTest() {
    const auto* const test = testing::UnitTest::GetInstance()->current_test_info();
    path_ = (std::filesystem::temp_directory_path() / str_cat("argosy_", test->name(), "_", getpid(), ".pb")).string();
  }
  ~GraphStepTest() override { std::filesystem::remove(path_); }

  void write(const Graph& g) {
    const auto text = export_graph(g);
    ASSERT_TRUE(text.ok()) << text.status().to_string();
    std::ofstream(path_, std::ios::binary) << *text;
  }
  GraphStepRequest request() const { return {.path = path_}; }
  std::string error_of(const GraphStepRequest& request) const {
    const auto step = GraphStep::open(request);
    return step.ok() ? "" : std::string(step.status().id());
  }

  std::string path_;
};

// x [rows, 64] times w [64, 8]; `name` trains w.
Value add_training(Graph& g, std::int64_t rows, const std::string& name) {
  const Value x = placeholder(g, DType::kFloat32, {rows, 64}, name + "_x");
  const VariableNode w = variable(g, random_tensor(DType::kFloat32, {64, 8}, 5), name + "_w");
  const VariableNode m = variable(g, Tensor::zeros(DType::kFloat32, {64, 8}), name + "_m");
  const Value loss = reduce_mean(square(matmul(x, w.read)));
  const Value slope = gradients(g, {loss}, {w.ref})[0];
  const Value update = g.add("ApplyMomentum", {w.ref, m.ref, constant(g, 0.05f), slope, constant(g, 0.9f)});
  group(g, {w.initializer, m.initializer}, name + "_init");
  return group(g, {update}, name);
}

TEST_F(GraphStepTest, FindsWhatTrainsAndItsLoss) {
  Graph g;
  add_training(g, -1, "train");
  write(g);
  GraphStepRequest asked = request();
  asked.batch = 20;
  const auto step = GraphStep::open(asked);
  ASSERT_TRUE(step.ok()) << step.status().to_string();
  EXPECT_THAT((*step)->targets(), ElementsAre("train"));
  EXPECT_EQ((*step)->losses().size(), 1u);
  ASSERT_EQ((*step)->subject().feeds.size(), 1u);
  EXPECT_EQ((*step)->subject().feeds[0].shape(), Shape({20, 64}));
  EXPECT_THAT((*step)->subject().axes, ElementsAre(0));
}

TEST_F(GraphStepTest, IsPlannedLikeAModel) {
  Graph g;
  add_training(g, -1, "train");
  write(g);
  const auto step = GraphStep::open(request());
  ASSERT_TRUE(step.ok()) << step.status().to_string();
  PlanOptions how{.probe_seconds = 0.05, .nodes = {"train_w"}};
  const auto plan = plan_graph(**step, {.emulate = "2"}, {}, false, how);
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  EXPECT_EQ(plan->strategy.to_string(), "dp=2");
  EXPECT_EQ(plan->batch, GraphStepRequest::kBatch);
  EXPECT_GT(plan->predicted.step_seconds, 0);
  ASSERT_EQ(plan->collectives.size(), 1u);
  EXPECT_EQ(plan->collectives[0].bytes, 64 * 8 * 4);
  EXPECT_TRUE(plan->whole.empty());
  ASSERT_EQ(plan->asked.size(), 1u);
  EXPECT_THAT(plan->asked[0].copies, HasSubstr("2 devices"));
  // The variable and its slot, on each device.
  for (const PlannedMemory& m : plan->memory) {
    if (m.device.find("GPU") == m.device.npos) continue;
    EXPECT_GE(m.bytes, 2u * 64 * 8 * 4) << m.device;
  }
  const auto one = std::find_if(plan->alternatives.begin(), plan->alternatives.end(),
                                [](const Alternative& a) { return a.strategy.to_string() == "dp=1"; });
  ASSERT_NE(one, plan->alternatives.end());
  EXPECT_GT(one->step_seconds, 0);
  how.nodes = {"train_v"};
  EXPECT_EQ(plan_graph(**step, {.emulate = "2"}, {}, false, how).status().id(), "ARG-SHARD-005");
  EXPECT_EQ(plan_graph(**step, {.emulate = "2"}, {.dp = 3}, false, how).status().id(), "ARG-SHARD-002");
}

TEST_F(GraphStepTest, AGraphOfOneSizeOfBatchKeepsIt) {
  Graph g;
  add_training(g, 24, "train");
  write(g);
  const auto step = GraphStep::open(request());
  ASSERT_TRUE(step.ok()) << step.status().to_string();
  const auto plan = plan_graph(**step, {.emulate = "3"}, {.automatic = true}, false, {.probe_seconds = 0.05});
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  EXPECT_EQ(plan->batch, 24);
}

TEST_F(GraphStepTest, TellsWhatIsMissing) {
  Graph none;
  const Value x = placeholder(none, DType::kFloat32, {-1, 4}, "x");
  none.add("Square", {x}, {}, "y");
  write(none);
  EXPECT_EQ(error_of(request()), "ARG-PLAN-040");

  Graph two;
  add_training(two, -1, "first");
  add_training(two, -1, "second");
  write(two);
  EXPECT_EQ(error_of(request()), "ARG-PLAN-041");
  GraphStepRequest asked = request();
  asked.targets = {"second"};
  EXPECT_EQ(error_of(asked), "");
  asked.targets = {"first", "second"};
  EXPECT_EQ(error_of(asked), "");
  asked.targets = {"first_init"};
  EXPECT_EQ(error_of(asked), "ARG-PLAN-042");
  asked.targets = {"third"};
  EXPECT_EQ(error_of(asked), "ARG-PLAN-046");
}

TEST_F(GraphStepTest, OpenSizesAreToldOrGiven) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, PartialShape({-1, -1}), "x");
  const VariableNode w = variable(g, random_tensor(DType::kFloat32, {8}, 5), "w");
  const Value loss = reduce_mean(square(x * w.read));
  const Value slope = gradients(g, {loss}, {w.ref})[0];
  group(g, {g.add("ApplyGradientDescent", {w.ref, constant(g, 0.05f), slope})}, "train");
  write(g);
  EXPECT_EQ(error_of(request()), "ARG-PLAN-043");
  GraphStepRequest asked = request();
  asked.shapes["x"] = Shape({6, 8});
  const auto step = GraphStep::open(asked);
  ASSERT_TRUE(step.ok()) << step.status().to_string();
  EXPECT_EQ((*step)->subject().feeds[0].shape(), Shape({6, 8}));
  asked.shapes["x"] = Shape({6, 8, 2});
  EXPECT_EQ(error_of(asked), "ARG-PLAN-044");
  asked = request();
  asked.feeds["x"] = Tensor::zeros(DType::kFloat64, {6, 8});
  EXPECT_EQ(error_of(asked), "ARG-PLAN-044");
  asked.feeds["x"] = Tensor::zeros(DType::kFloat32, {6, 8});
  EXPECT_EQ(error_of(asked), "");
}

TEST_F(GraphStepTest, AStepWithoutABatchIsTold) {
  Graph g;
  const VariableNode w = variable(g, random_tensor(DType::kFloat32, {8}, 5), "w");
  const Value loss = reduce_mean(square(w.read));
  const Value slope = gradients(g, {loss}, {w.ref})[0];
  group(g, {g.add("ApplyGradientDescent", {w.ref, constant(g, 0.05f), slope})}, "train");
  write(g);
  EXPECT_EQ(error_of(request()), "ARG-PLAN-045");
}

}  // namespace
}  // namespace argosy::tf
