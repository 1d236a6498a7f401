// Plans of a small model on emulated GPUs. Times are this machine's: tests compare them with each other, not with a
// figure.
#include "argosy/planner/planner.h"

#include <gtest/gtest.h>

#include "argosy/data/synthetic.h"
#include "argosy/train/models/models.h"

namespace argosy {
namespace {

const PlanOptions kShort{.probe_seconds = 0.05, .search_seconds = 5};

std::unique_ptr<data::Dataset> images() {
  return data::open_dataset("synthetic", {.image_size = 8, .examples = 256}).value();
}

ModelBuilder model(int width = 16) { return models::mlp({.image_size = 8, .channels = 3, .classes = 10}, width); }

TrainerOptions options(const std::string& emulate, StrategySpec strategy = {.automatic = true}) {
  TrainerOptions o;
  o.devices.emulate = emulate;
  o.batch = 64;
  o.strategy = std::move(strategy);
  return o;
}

TEST(Planner, PlansAGivenStrategy) {
  const auto data = images();
  const auto plan = make_plan(model(), options("2", {}), *data, kShort);
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  EXPECT_EQ(plan->strategy.to_string(), "dp=2");
  EXPECT_EQ(plan->devices.size(), 2u);
  EXPECT_GT(plan->predicted.step_seconds, 0);
  EXPECT_NEAR(plan->predicted.samples_per_second * plan->predicted.step_seconds, 64, 1e-6);
  ASSERT_FALSE(plan->collectives.empty());
  std::int64_t bytes = 0;
  int values = 0;
  for (const PlannedTransfer& c : plan->collectives) {
    EXPECT_EQ(c.op, "all-reduce");
    EXPECT_NE(c.why.find("gradient"), std::string::npos) << c.why;
    EXPECT_GT(c.seconds, 0);
    bytes += c.bytes;
    values += c.values;
  }
  // All gradients travel once: kernels and biases of 192 -> 16 -> 128 -> 10 or the like, in float32.
  EXPECT_GT(bytes, 192 * 16 * 4);
  EXPECT_GE(values, 4);
  EXPECT_TRUE(plan->whole.empty());
  ASSERT_FALSE(plan->alternatives.empty());
}

// The certificate: what training itself says before its first step.
TEST(Planner, MemoryIsTheForecastOfTheCompiledStep) {
  const auto data = images();
  TrainerOptions o = options("2", {});
  const auto plan = make_plan(model(), o, *data, kShort);
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  o.steps = 1;
  o.verdict = false;
  auto trainer = Trainer::make(model(), o);
  ASSERT_TRUE(trainer.ok());
  ASSERT_TRUE((*trainer)->fit(*data).ok());
  const auto& planned = (*trainer)->report().planned_bytes;
  for (const PlannedMemory& m : plan->memory) {
    const auto same = std::find_if(planned.begin(), planned.end(), [&](const auto& p) {
      return p.first == DeviceName::parse(m.device).value().short_string();
    });
    if (same == planned.end()) continue;
    EXPECT_EQ(m.bytes, same->second) << m.device;
  }
  // What the devices hold in the end is what was planned as variables, and equal on both.
  const auto& state = (*trainer)->report().state_bytes;
  ASSERT_EQ(state.size(), 3u);
  EXPECT_EQ(state[1].second, state[2].second);
  EXPECT_GT(state[1].second, 0u);
}

TEST(Planner, AutomaticTakesTheFastestThatFits) {
  const auto data = images();
  const auto plan = make_plan(model(), options("2"), *data, kShort);
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  for (const Alternative& a : plan->alternatives) {
    if (!a.fits) continue;
    EXPECT_GE(a.step_seconds * 1.03, plan->predicted.step_seconds) << a.strategy.to_string();
  }
  // The request for a training has the plan's devices alone.
  const DeviceRequest request = request_of(*plan, options("2").devices);
  EXPECT_EQ(chosen_devices(request).value().size(), plan->devices.size());
}

TEST(Planner, SlowLinksMakeOneDeviceTheFastest) {
  const auto data = images();
  const auto plan = make_plan(model(512), options("gpu:1GiB,gpu:1GiB;link=2MB/s"), *data, kShort);
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  EXPECT_EQ(plan->strategy.to_string(), "dp=1");
  const auto two = std::find_if(plan->alternatives.begin(), plan->alternatives.end(),
                                [](const Alternative& a) { return a.strategy.to_string() == "dp=2"; });
  ASSERT_NE(two, plan->alternatives.end());
  EXPECT_NE(two->why.find("slower"), std::string::npos) << two->why;
}

TEST(Planner, WhatDoesNotFitIsRefusedBeforeAnyStep) {
  const auto data = images();
  const auto plan = make_plan(model(2048), options("gpu:1MiB,gpu:1MiB"), *data, kShort);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.status().code(), Code::kResourceExhausted);
  EXPECT_EQ(plan.status().id(), "ARG-MEM-002");
}

TEST(Planner, ExplainsNodes) {
  const auto data = images();
  PlanOptions how = kShort;
  how.nodes = {"dense/kernel", "image"};
  const auto plan = make_plan(model(), options("2", {}), *data, how);
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  ASSERT_EQ(plan->asked.size(), 2u);
  EXPECT_EQ(plan->asked[0].copies, "one on each of 2 devices, all equal");
  EXPECT_EQ(plan->asked[1].copies, "once");
  how.nodes = {"dense/kernal"};
  const auto none = make_plan(model(), options("2", {}), *data, how);
  EXPECT_EQ(none.status().id(), "ARG-SHARD-005");
  EXPECT_EQ(none.status().hint(), "dense/kernel");
}

TEST(Planner, RefusesAStrategyThatDoesNotSuit) {
  const auto data = images();
  EXPECT_EQ(make_plan(model(), options("2", {.dp = 3}), *data, kShort).status().id(), "ARG-SHARD-002");
  EXPECT_EQ(make_plan(model(), options("2", {.file = "a"}), *data, kShort).status().id(), "ARG-SHARD-001");
}

}  // namespace
}  // namespace argosy
