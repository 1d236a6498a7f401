// Steps of clients that stay on one device because they are faster there, and those that do not.
#include "argosy/tf/server/replication/advice/step_advisor.h"

#include "argosy/graph/gradients.h"
#include "argosy/ops/cast/cast.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/state/state.h"
#include "argosy/testing/op_cases/op_case.h"
#include "argosy/tf/graph/graph_export.h"
#include "argosy/tf/server/tests/server_test.h"

namespace argosy::tf {
namespace {

using testing::HasSubstr;

// x [n, 4] times a variable, and what `loss_of` makes of it, as a client sends it.
template <typename Loss>
std::string graph_of(Loss&& loss_of, std::int64_t width = 3) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 4}, "x");
  const VariableNode w = variable(g, random_tensor(DType::kFloat32, {4, width}, 5), "w");
  const VariableNode speed = variable(g, Tensor::zeros(DType::kFloat32, {4, width}), "speed");
  const Value loss = loss_of(matmul(x, w.read));
  const Value slope = gradients(g, {loss}, {w.ref})[0];
  group(g, {g.add("ApplyMomentum", {w.ref, speed.ref, constant(g, 0.05f), slope, constant(g, 0.9f)})}, "train");
  group(g, {w.initializer, speed.initializer}, "init");
  g.add("Identity", {loss}, {}, "loss");
  g.add("Identity", {w.read}, {}, "value");
  const auto text = export_graph(g);
  EXPECT_TRUE(text.ok()) << text.status().to_string();
  return text.ok() ? *text : "";
}
// Every example beside every other: each device needs all rows.
std::string pairs() {
  return graph_of([](Value h) { return reduce_mean(square(matmul(h, h, {.transpose_b = true}))); });
}
std::string plain(std::int64_t width = 3) {
  return graph_of([](Value h) { return reduce_mean(square(h)); }, width);
}

class StepAdvisorTest : public ServerTest {
 protected:
  void start_with(const std::string& emulate, StrategySpec strategy, int check = 0) {
    start({.devices = {.emulate = emulate},
           .count_work = true,
           .replicate = true,
           .check = check,
           .strategy = std::move(strategy)});
  }
  // Some steps; the losses, then the variable.
  std::vector<Tensor> train(const std::string& graph, int steps = 3) {
    const std::string session = client_->create(graph);
    EXPECT_EQ(run(session, {.targets = {"init"}}).code, 0);
    std::vector<Tensor> kept;
    for (int i = 0; i < steps; ++i) {
      const StepReply reply = run(session, {.feeds = {{"x:0", random_tensor(DType::kFloat32, {10, 4}, 7)}},
                                            .fetches = {"loss:0"},
                                            .targets = {"train"}});
      EXPECT_EQ(reply.code, 0) << reply.message;
      kept.push_back(reply["loss:0"]);
    }
    kept.push_back(run(session, {.fetches = {"value:0"}})["value:0"]);
    return kept;
  }
};

TEST_F(StepAdvisorTest, StepsThatGatherMuchAndComputeLittleStayOnOneDevice) {
  start_with("gpu:64MiB,gpu:64MiB", {.automatic = true});
  const std::vector<Tensor> stayed = train(pairs());
  const WorkTotals work = server_->work();
  EXPECT_EQ(work.replicated_steps, 0);
  ASSERT_EQ(work.reasons.size(), 1u);
  const OneDeviceReason& reason = work.reasons[0];
  EXPECT_EQ(reason.steps, 3);
  EXPECT_THAT(reason.why, HasSubstr("one device is faster: predicted "));
  EXPECT_THAT(reason.why, HasSubstr(" a step on one device, "));
  EXPECT_THAT(reason.why, HasSubstr("--strategy dp"));
  EXPECT_FALSE(reason.node.empty());
  ASSERT_TRUE(reason.times.has_value());
  EXPECT_GT(reason.times->one_device, 0);
  EXPECT_LT(reason.times->one_device, reason.times->replicated);
  // The trial has changed nothing of the client's: the numbers are those of replicated steps, up to rounding.
  start_with("gpu:64MiB,gpu:64MiB", {});
  const std::vector<Tensor> replicated = train(pairs());
  EXPECT_EQ(server_->work().replicated_steps, 3);
  EXPECT_FALSE(server_->work().times.has_value());
  ASSERT_EQ(stayed.size(), replicated.size());
  for (std::size_t i = 0; i < stayed.size(); ++i) EXPECT_EQ(difference(stayed[i], replicated[i], 1e-5), "") << i;
}

TEST_F(StepAdvisorTest, StepsThatOnlySumAreReplicatedOnEmulatedGpusWithoutALink) {
  start_with("gpu:64MiB,gpu:64MiB", {.automatic = true});
  train(plain());
  EXPECT_EQ(server_->work().replicated_steps, 3);
  EXPECT_FALSE(server_->work().times.has_value());  // not asked
}

TEST_F(StepAdvisorTest, SlowLinksAreAReasonOfTheirOwn) {
  start_with("gpu:64MiB,gpu:64MiB;link=1MB/s", {.automatic = true});
  train(plain(8192));
  EXPECT_EQ(server_->work().replicated_steps, 0);
  ASSERT_EQ(server_->work().reasons.size(), 1u);
  EXPECT_TRUE(server_->work().reasons[0].times.has_value());
}

TEST_F(StepAdvisorTest, ACheckReplicates) {
  start_with("gpu:64MiB,gpu:64MiB", {.automatic = true}, /*check=*/1);
  train(pairs());
  EXPECT_EQ(server_->work().replicated_steps, 3);
  EXPECT_EQ(server_->work().checked_steps, 1);
}

TEST_F(StepAdvisorTest, MicroBatchesOfAClientGiveOneDevicesNumbers) {
  start_with("gpu:64MiB,gpu:64MiB", {});
  const std::vector<Tensor> whole = train(plain());
  start_with("gpu:64MiB,gpu:64MiB", {.accumulate = 2});
  const std::vector<Tensor> parts = train(plain());
  EXPECT_EQ(server_->work().replicated_steps, 3);
  for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_EQ(difference(parts[i], whole[i], 1e-5), "") << i;
}

}  // namespace
}  // namespace argosy::tf
