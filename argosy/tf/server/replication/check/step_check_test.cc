// --check: the first replicated steps beside one device. Sound ones pass and nothing is left behind; a fault on the
// second GPU is told with the value and the step; what cannot be compared says why.
#include "argosy/tf/server/replication/check/step_check.h"

#include <fstream>
#include <future>
#include <thread>

#include "argosy/graph/gradients.h"
#include "argosy/ops/cast/cast.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/shape/shape.h"
#include "argosy/ops/state/state.h"
#include "argosy/testing/loop.h"
#include "argosy/testing/op_cases/op_case.h"
#include "argosy/tf/graph/graph_export.h"
#include "argosy/tf/server/replication/check/step_exclusion.h"
#include "argosy/tf/server/session/session_state.h"
#include "argosy/tf/server/tests/server_test.h"

namespace argosy::tf {
namespace {

using testing::HasSubstr;
using testing::Not;

// A line with weights that is fitted with momentum, so that variables are written beside the trained one. `noise`: what
// is added to every example. `rows`: of the batch, -1: any.
std::string line(const std::function<Value(Graph&, Value)>& noise = nullptr, std::int64_t rows = -1) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {rows, 4}, "x"), t = placeholder(g, DType::kFloat32, {rows, 1}, "t");
  const VariableNode w = variable(g, random_tensor(DType::kFloat32, {4, 1}, 5), "w");
  const VariableNode speed = variable(g, Tensor::zeros(DType::kFloat32, {4, 1}), "speed");
  const VariableNode count = variable(g, Tensor::scalar(std::int64_t{0}), "count");
  Value line = matmul(x, w.read);
  if (noise) line = line + noise(g, line);
  const Value loss = reduce_mean(square(line - t));
  const Value slope = gradients(g, {loss}, {w.ref})[0];
  group(g,
        {g.add("ApplyMomentum", {w.ref, speed.ref, constant(g, 0.05f), slope, constant(g, 0.9f)}),
         g.add("AssignAdd", {count.ref, constant(g, std::int64_t{1})})},
        "train");
  group(g, {w.initializer, speed.initializer, count.initializer}, "init");
  g.add("Identity", {loss}, {}, "loss");
  g.add("Identity", {w.read}, {}, "value");
  g.add("Identity", {count.read}, {}, "counted");
  const auto text = export_graph(g);
  EXPECT_TRUE(g.status().ok()) << g.status().to_string();
  EXPECT_TRUE(text.ok()) << text.status().to_string();
  return text.ok() ? *text : "";
}

class StepCheckTest : public ServerTest {
 protected:
  void start_with(int check, const std::string& faults = "", bool replicate = true) {
    start({.devices = {.emulate = "2", .faults = faults}, .http_port = 0, .replicate = replicate, .check = check});
  }
  static StepCall step(std::int64_t rows, std::uint64_t seed = 1) {
    return {.feeds = {{"x:0", random_tensor(DType::kFloat32, {rows, 4}, seed)},
                      {"t:0", random_tensor(DType::kFloat32, {rows, 1}, seed + 77)}},
            .fetches = {"loss:0"},
            .targets = {"train"}};
  }
  Tensor value(const std::string& session, const std::string& name) { return run(session, {.fetches = {name}})[name]; }
  // Losses of five steps, the weights, the count.
  std::vector<Tensor> train(const std::string& graph) {
    const std::string session = client_->create(graph);
    EXPECT_EQ(run(session, {.targets = {"init"}}).code, 0);
    std::vector<Tensor> kept;
    for (int i = 0; i < 5; ++i) {
      const StepReply reply = run(session, step(7, static_cast<std::uint64_t>(i) + 1));
      EXPECT_EQ(reply.code, 0) << reply.message;
      kept.push_back(reply["loss:0"]);
    }
    kept.push_back(value(session, "value:0"));
    kept.push_back(value(session, "counted:0"));
    return kept;
  }
};

TEST_F(StepCheckTest, SoundStepsPassAndAreCountedOnce) {
  start_with(0, "", false);
  const std::vector<Tensor> alone = train(line());
  for (const int check : {0, 1, 3, 100}) {
    start_with(check);
    const std::vector<Tensor> checked = train(line());
    for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_EQ(difference(checked[i], alone[i], 1e-5), "") << check;
    const WorkTotals work = server_->work();
    EXPECT_EQ(work.replicated_steps, 5);
    EXPECT_EQ(work.checked_steps, std::min(check, 5));
    EXPECT_EQ(work.differing_steps, 0);
    EXPECT_TRUE(work.not_checked.empty()) << work.not_checked[0].why;
  }
}

TEST_F(StepCheckTest, AWrongBitOnTheSecondGpuIsToldAndTheStateIsPutBack) {
  int told = 0;
  for (int n = 1; n <= 24; ++n) {
    start_with(3, str_cat("gpu:1:flip=", n));
    const std::string session = client_->create(line());
    EXPECT_EQ(run(session, {.targets = {"init"}}).code, 0);
    Tensor before = value(session, "value:0");
    for (int i = 0; i < 3; ++i) {
      const StepReply reply = run(session, step(7, static_cast<std::uint64_t>(i) + 1));
      if (reply.code == 0) {
        before = value(session, "value:0");
        continue;
      }
      ++told;
      EXPECT_EQ(reply.code, code(Code::kInternal)) << reply.message;
      EXPECT_THAT(reply.message, HasSubstr("ARG-CHECK-001"));
      EXPECT_THAT(reply.message, HasSubstr(str_cat("replicated step ", i + 1, " is not the step of one device")));
      EXPECT_THAT(reply.message, HasSubstr("on one device"));
      EXPECT_EQ(server_->work().differing_steps, 1);
      EXPECT_EQ(difference(value(session, "value:0"), before, 0), "");
      EXPECT_EQ(*value(session, "counted:0").data<std::int64_t>(), i);
      break;  // the bit flips once
    }
  }
  EXPECT_GE(told, 6);
}

// Dropout and the like go on where one device would be, however often a step is repeated for the check.
TEST_F(StepCheckTest, SeededNoiseIsDrawnAsWithoutACheck) {
  const auto noise = [](Graph& g, Value like) {
    return g.add("RandomStandardNormal", {shape(like)},
                 {{"dtype", DType::kFloat32}, {"seed", std::int64_t{3}}, {"seed2", std::int64_t{4}}});
  };
  start_with(0, "", false);
  const std::vector<Tensor> alone = train(line(noise));
  start_with(2);
  const std::vector<Tensor> checked = train(line(noise));
  EXPECT_EQ(server_->work().checked_steps, 2);
  for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_EQ(difference(checked[i], alone[i], 1e-5), "") << i;
}

// Dropout in a recurrent net. Without a seed, too: the devices of a session draw from one stream, and it is put back.
TEST_F(StepCheckTest, DrawsAreThoseOfOneDeviceInLoopsAndLeftToChance) {
  const auto draw = [](Graph& g, Value size, std::int64_t seed) {
    return g.add("RandomStandardNormal", {size}, {{"dtype", DType::kFloat32}, {"seed", seed}, {"seed2", seed}},
                 "noise");
  };
  for (const std::int64_t rows : {-1, 7}) {
    for (const std::int64_t seed : {0, 3}) {
      const auto fixed = [](Graph& g) { return constant(g, Tensor::vector<std::int32_t>({7, 1})); };
      const auto plain = [&](Graph& g, Value like) { return draw(g, rows < 0 ? shape(like) : fixed(g), seed); };
      const auto in_loop = [&](Graph& g, Value like) {
        const Value size = rows < 0 ? Value() : DataflowLoop::enter(g, fixed(g));
        const auto turn = [&](Value v) { return tanh(v + draw(g, rows < 0 ? shape(v) : size, seed)); };
        return g.add("StopGradient", {DataflowLoop(g, like, turn).out});
      };
      // Who waits for the draw, waits for those of the shards, and does not draw itself.
      const auto waited = [&](Graph& g, Value like) {
        const Value noise = plain(g, like);
        const auto after = g.control_dependencies({group(g, {noise}, "drawn")});
        return identity(noise);
      };
      for (const std::string& graph : {line(plain, rows), line(in_loop, rows), line(waited, rows)}) {
        start_with(0, "", false);
        const std::vector<Tensor> alone = train(graph);
        start_with(2);
        const std::vector<Tensor> checked = train(graph);
        const WorkTotals work = server_->work();
        EXPECT_EQ(work.replicated_steps, 5) << rows << " rows, seed " << seed;
        EXPECT_EQ(work.checked_steps, 2) << (work.not_checked.empty() ? "" : work.not_checked[0].why);
        EXPECT_EQ(work.differing_steps, 0);
        for (std::size_t i = 0; seed != 0 && i < alone.size(); ++i)
          EXPECT_EQ(difference(checked[i], alone[i], 1e-5), "") << i;
      }
    }
  }
}

// Of ops that TensorFlow calls stateful, those that change nothing may run again (OpDef::effect).
TEST_F(StepCheckTest, WhatOnlyReadsStateIsRepeated) {
  std::string initialize;
  const std::string graph = line([&](Graph& g, Value like) {
    const VariableNode scale = variable(g, Tensor::scalar(0.5f), "scale", {.kind = VariableKind::kResource});
    initialize = scale.initializer.node_name();
    const Value asked = cast(g.add("VarIsInitializedOp", {scale.ref}), DType::kFloat32);
    const Value factor = g.add("GuaranteeConst", {constant(g, 1.5f)}), plus = g.add("DeepCopy", {constant(g, 0.5f)});
    return like * scale.read * factor + plus * asked;
  });
  start_with(3);
  const std::string session = client_->create(graph);
  EXPECT_EQ(run(session, {.targets = {"init", initialize}}).code, 0);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(run(session, step(7, static_cast<std::uint64_t>(i) + 1)).code, 0);
  const WorkTotals work = server_->work();
  EXPECT_EQ(work.replicated_steps, 5);
  EXPECT_EQ(work.checked_steps, 3);
  EXPECT_EQ(work.differing_steps, 0);
  EXPECT_TRUE(work.not_checked.empty()) << work.not_checked[0].why;
}

TEST_F(StepCheckTest, WhatCannotBeComparedSaysWhy) {
  const auto printed = [](Graph& g, Value like) {
    return g.add("Print", {like * like, like}, {{"message", std::string("said")}, {"first_n", std::int64_t{1}}}, "say");
  };
  start_with(3);
  (void)train(line(printed));
  ASSERT_EQ(server_->work().not_checked.size(), 1U);
  EXPECT_THAT(server_->work().not_checked[0].why, HasSubstr("'say' (Print) would print its line again"));
}

// Batch normalisation looks at each shard by design, layer normalisation at each example.
TEST_F(StepCheckTest, StatisticsOfShardsAreNotComparedUnlessTheyAreTheBatchs) {
  // `fed`: of what no variable is behind. `centred`: training goes through a mean of all examples.
  const auto normalised = [](std::int32_t axis, bool fed = false, bool centred = false) {
    return [=](Graph& g, Value line) {
      Value like = fed ? g.value({*g.find("x"), 0}) : line;
      if (centred) like = like - reduce_mean(tanh(like), {0});
      const Value wide = concat({like, like * like}, 1), axes = constant(g, Tensor::vector<std::int32_t>({axis}));
      const Value mean = g.add("Mean", {wide, axes}, {{"keep_dims", true}}, "moments/mean");
      const Value apart = g.add("SquaredDifference", {wide, g.add("StopGradient", {mean})});
      const Value variance = g.add("Mean", {apart, axes}, {{"keep_dims", true}});
      return reduce_sum((wide - mean) / sqrt(variance + constant(g, 0.1f)), {1}, true);
    };
  };
  start_with(3);
  (void)train(line(normalised(0)));
  ASSERT_EQ(server_->work().replicated_steps, 5) << server_->work().not_replicated;
  ASSERT_EQ(server_->work().not_checked.size(), 1U);
  EXPECT_EQ(server_->work().not_checked[0].node, "moments/mean");
  EXPECT_THAT(server_->work().not_checked[0].why, HasSubstr("--sync-batch-norm"));
  start({.devices = {.emulate = "2"}, .replicate = true, .sync_batch_norm = true, .check = 3});
  (void)train(line(normalised(0)));
  EXPECT_EQ(server_->work().checked_steps, 3);
  for (const auto& global : {normalised(1), normalised(0, true), normalised(0, false, true)}) {
    start_with(3);
    (void)train(line(global));
    EXPECT_EQ(server_->work().replicated_steps, 5) << server_->work().not_replicated;
    EXPECT_EQ(server_->work().checked_steps, 3);
    EXPECT_EQ(server_->work().differing_steps, 0);
    EXPECT_TRUE(server_->work().not_checked.empty()) << server_->work().not_checked[0].why;
  }
}

// Writers of the same variables, all the time: nothing of theirs is lost, and nobody waits for ever.
TEST_F(StepCheckTest, StepsOfOtherThreadsAreNotLost) {
  start_with(1000);
  Graph g;
  const std::string session = client_->create(line());
  EXPECT_EQ(run(session, {.targets = {"init"}}).code, 0);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      RawClient own(server_->address());
      for (int k = 0; k < 8; ++k) {
        // Of too few rows for both GPUs, they train on one.
        const StepReply reply = own.run(session, step(i == 0 ? 6 : 1, static_cast<std::uint64_t>(10 * i + k + 1)));
        EXPECT_EQ(reply.code, 0) << reply.message;
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(*value(session, "counted:0").data<std::int64_t>(), 24);
  EXPECT_EQ(server_->work().differing_steps, 0);
}

TEST_F(StepCheckTest, IsOfReplicatedStepsOnly) {
  const auto refused = SessionServer::start({.port = 0, .check = 3});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.status().message(), HasSubstr("--check is of replicated steps"));
}

TEST(StepCheck, SeesWhatWasTakenTwice) {
  Graph g;
  const Value queue = g.add("FIFOQueueV2", {}, {{"component_types", std::vector<DType>{DType::kFloat32}}}, "queue");
  const Value batch = g.add("QueueDequeueManyV2", {queue, constant(g, 4)},
                            {{"component_types", std::vector<DType>{DType::kFloat32}}}, "batch");
  const Value put = g.add("QueueEnqueueV2", {queue, constant(g, 1.0f)}, {}, "put");
  const StepCheck check(g, {.feeds = {batch}, .fetches = {reduce_mean(batch)}, .targets = {put}}, {batch}, {});
  EXPECT_TRUE(check.uses_containers());
  const auto after = [&](std::vector<OpRecord> ops) { return check.ran_twice({.ops = std::move(ops)}); };
  EXPECT_EQ(after({{"Mean", "Mean"}, {"Mean/replica_1", "Mean"}, {"put", "QueueEnqueueV2"}}), "");
  EXPECT_EQ(after({{"put", "QueueEnqueueV2"}, {"put/replica_1", "QueueEnqueueV2"}}),
            "'put' (QueueEnqueueV2) ran 2 times");
  EXPECT_EQ(after({{"batch", "QueueDequeueManyV2"}}),
            "'batch' (QueueDequeueManyV2) ran once more, and took another batch");
  EXPECT_EQ(original_of("a/replica_12"), "a");
  EXPECT_EQ(original_of("a/replica_"), "a/replica_");
  EXPECT_EQ(original_of("a/replica_1x"), "a/replica_1x");
}

TEST(ReplicaCounter, CountsEveryReasonWithItsNode) {
  const OneDeviceReason first = reason_of(unimplemented("'a/b' (Unpack) does not take another size")
                                              .with_where("node 'a/b' (Unpack)")
                                              .with_hint("tf.placeholder(dtype, [None, …])"));
  EXPECT_EQ(first.node, "a/b");
  EXPECT_THAT(first.why, HasSubstr("(try: tf.placeholder"));
  const OneDeviceReason second = reason_of(invalid_argument("the loss 'Mean_2' does not depend on the batch's rows"));
  EXPECT_EQ(second.node, "Mean_2");
  EXPECT_EQ(reason_of(invalid_argument("the batch's size isn't known")).node, "");
  ReplicaCounter counter;
  EXPECT_TRUE(counter.met(first));
  EXPECT_FALSE(counter.met(first));
  EXPECT_TRUE(counter.met(second));
  for (int i = 0; i < 3; ++i) counter.on_one_device(first);
  counter.on_one_device(second);
  for (int i = 0; i < 100; ++i) (void)counter.met({.why = str_cat("reason ", i)});
  counter.on_one_device({.why = "reason 99"});
  const ReplicaTotals totals = counter.totals();
  ASSERT_EQ(totals.reasons.size(), 2U);  // of the others no step ran to its end
  EXPECT_EQ(totals.reasons[0].steps, 3);
  EXPECT_EQ(totals.reasons[1].steps, 1);
  EXPECT_EQ(totals.more_reasons, 1);
  EXPECT_THAT(status_section(totals), HasSubstr("  3 on one device: 'a/b' (Unpack) does not take another size"));
  EXPECT_THAT(
      metrics_section({.reasons = {{"a \"quoted\" \\ reason\n", "n", 2}}}),
      HasSubstr("argosy_not_replicated_steps_total{reason=\"a \\\"quoted\\\" \\\\ reason\\n\",node=\"n\"} 2\n"));
}

TEST(StepExclusion, WhoWaitsForACheckedStepEndsWithItsOwn) {
  StepExclusion exclusion;
  auto alone = exclusion.try_exclusive(true);
  ASSERT_TRUE(alone.has_value());
  Cancellation over;
  auto waiting = std::async(std::launch::async, [&] { return exclusion.enter(true, &over).status(); });
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  over.cancel(deadline_exceeded("too late"));
  EXPECT_EQ(waiting.get().code(), Code::kDeadlineExceeded);
  alone.reset();
  {
    const auto shared = exclusion.enter(true, nullptr);
    ASSERT_TRUE(shared.ok());
    EXPECT_FALSE(exclusion.try_exclusive(false).has_value());
  }
  EXPECT_TRUE(exclusion.try_exclusive(true).has_value());
}

}  // namespace
}  // namespace argosy::tf
