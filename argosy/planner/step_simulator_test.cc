// Steps whose time on virtual clocks is known in closed form.
#include "argosy/planner/step_simulator.h"

#include <gtest/gtest.h>

#include <map>

#include "argosy/ops/collective/collective.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/runtime/compile/step_compiler.h"

namespace argosy {
namespace {

// Chains of ops on emulated GPUs; names say what each takes, in the test's table.
class Chains {
 public:
  explicit Chains(const std::string& emulate) { set_ = DeviceSet::make({.emulate = emulate}).value(); }

  Graph graph;
  std::map<std::string, double, std::less<>> seconds;  // by node; others take nothing

  Value op(int gpu, const std::string& name, const std::vector<Value>& inputs, double takes) {
    const auto on = graph.device(str_cat("/device:GPU:", gpu));
    seconds[name] = takes;
    return graph.add("Neg", inputs, {}, name);
  }
  Value source(int gpu) {
    const auto on = graph.device(str_cat("/device:GPU:", gpu));
    return graph.add("Placeholder", {}, {{"dtype", DType::kFloat32}, {"shape", PartialShape({4})}}, str_cat("x", gpu));
  }

  SimulatedStep run(const std::vector<Value>& feeds, const std::vector<Value>& fetches, int cores,
                    const MachineRates* rates = nullptr) {
    StepSignature signature;
    for (const Value& v : feeds) {
      signature.feeds.push_back(v.endpoint());
      signature.feed_shapes.emplace_back(Shape{4});
    }
    for (const Value& v : fetches) signature.fetches.push_back(v.endpoint());
    const SessionOptions options{.device_set = set_, .optimize = false, .trace_path = ""};
    const auto own = std::make_shared<ResourceManager>();
    StepCompiler compiler(graph, options, set_, own);
    const auto step = compiler.make(signature, false);
    EXPECT_TRUE(step.ok()) << step.status().to_string();
    const auto simulated = simulate_step(*step->step, {.kernel =
                                                           [&](const Node& n, const Graph&, int) {
                                                             const auto found = seconds.find(n.name);
                                                             return found != seconds.end() ? found->second : 0.0;
                                                           },
                                                       .rates = rates,
                                                       .cores = cores});
    EXPECT_TRUE(simulated.ok()) << simulated.status().to_string();
    return *simulated;
  }

 private:
  std::shared_ptr<DeviceSet> set_;
};

Value all_reduce_of(Value part, int d) {
  return all_reduce({part}, {.group = "g", .rank = d, .size = 2}, str_cat("sum", d))[0];
}

constexpr double kNear = 1e-5;  // the executor's own instructions

TEST(StepSimulator, AChainTakesTheSum) {
  Chains c("1");
  const Value x = c.source(0);
  const Value b = c.op(0, "b", {c.op(0, "a", {x}, 1.0)}, 2.0);
  const SimulatedStep step = c.run({x}, {b}, 4);
  EXPECT_NEAR(step.seconds, 3, kNear);
  EXPECT_NEAR(step.busy_seconds[1], 3, kNear);
}

TEST(StepSimulator, DevicesWorkAtOnceWhileThereAreCores) {
  for (const int cores : {2, 1}) {
    Chains c("gpu:1GiB,gpu:1GiB");
    const Value x = c.source(0), y = c.source(1);
    const Value a = c.op(0, "a", {x}, 1.0), b = c.op(1, "b", {y}, 1.5);
    const int each = DeviceSet::make({.emulate = "2"}).value()->device(1).spec().cores;
    const SimulatedStep step = c.run({x, y}, {a, b}, cores * each);
    // On half of the cores both run at half speed: 2 s until a ends, then b's last half second alone.
    EXPECT_NEAR(step.seconds, cores == 2 ? 1.5 : 2.5, kNear) << cores;
  }
}

TEST(StepSimulator, ADeviceWaitsForAnother) {
  Chains c("2");
  const Value x = c.source(0), y = c.source(1);
  const Value a = c.op(0, "a", {x}, 1.0);
  const auto on = c.graph.device("/device:GPU:1");
  const Value b = c.op(1, "b", {y}, 0.25);
  c.seconds["sum"] = 0.5;
  const Value sum = c.graph.add("Add", {a, b}, {}, "sum");
  EXPECT_NEAR(c.run({x, y}, {sum}, 64).seconds, 1.5, kNear);
}

// 1 s of work before the sum on gpu:0, 3 s on gpu:1; both wait for the later one.
TEST(StepSimulator, ACollectiveStartsWithItsLastMember) {
  Chains c("2");
  std::vector<Value> sums;
  const Value x = c.source(0), y = c.source(1);
  const Value parts[] = {c.op(0, "a", {x}, 1.0), c.op(1, "b", {y}, 3.0)};
  std::vector<Value> ends;
  for (int d = 0; d < 2; ++d) {
    const auto on = c.graph.device(str_cat("/device:GPU:", d));
    const Value sum = all_reduce({parts[d]}, {.group = "g", .rank = d, .size = 2}, str_cat("sum", d))[0];
    ends.push_back(c.op(d, str_cat("end", d), {sum}, 0.5));
  }
  const SimulatedStep step = c.run({x, y}, ends, 64);
  EXPECT_NEAR(step.seconds, 3.5, kNear);
  EXPECT_NEAR(step.collective_seconds, 0, kNear);  // no rates: nothing travels
}

// Two devices work for 1 s, sum 64 KiB (which takes 4 s) and meanwhile work for `beside` seconds, then end.
double with_a_sum(const std::string& emulate, double beside, double all_reduce, double work, int cores) {
  Chains c(emulate);
  std::vector<Value> ends;
  const Value feeds[] = {c.source(0), c.source(1)};
  for (int d = 0; d < 2; ++d) {
    const Value part = c.op(d, str_cat("part", d), {feeds[d]}, 1.0);
    const auto on = c.graph.device(str_cat("/device:GPU:", d));
    const Value sum = all_reduce_of(part, d);
    const Value other = c.op(d, str_cat("other", d), {part}, beside);
    c.seconds[str_cat("end", d)] = 0.5;
    ends.push_back(c.graph.add("Add", {sum, other}, {}, str_cat("end", d)));
  }
  const MachineRates rates(
      Curve(), {{.devices = 2, .start = 0, .all_reduce = Curve({{1, all_reduce}}), .work = Curve({{1, work}})}});
  return c.run({feeds[0], feeds[1]}, ends, cores, &rates).seconds;
}

TEST(StepSimulator, ACollectiveOverLinksIsHiddenBehindWork) {
  const char* const kLinks = "gpu:1GiB,gpu:1GiB;link=1GB/s";
  EXPECT_NEAR(with_a_sum(kLinks, 0, 4, 0, 64), 5.5, kNear);
  EXPECT_NEAR(with_a_sum(kLinks, 3, 4, 0, 64), 5.5, kNear);
  EXPECT_NEAR(with_a_sum(kLinks, 6, 4, 0, 64), 7.5, kNear);
}

TEST(StepSimulator, ItsWorkTakesCoresFromTheDevices) {
  const char* const kLinks = "gpu:1GiB,gpu:1GiB;link=1GB/s";
  const int each = DeviceSet::make({.emulate = kLinks}).value()->device(1).spec().cores;
  // 1 s of its work on two threads beside two devices, on the devices' cores alone.
  const double beside = with_a_sum(kLinks, 6, 4, 1, 2 * each);
  EXPECT_GT(beside, 7.5 + 0.1);
  EXPECT_LT(beside, 7.5 + 1.5);
  EXPECT_NEAR(with_a_sum(kLinks, 6, 4, 1, 64), 7.5, kNear);
}

TEST(StepSimulator, ASmallCollectiveWithoutLinksHoldsUpTheLastDevice) {
  EXPECT_NEAR(with_a_sum("2", 0, 4, 4, 64), 5.5, kNear);
  EXPECT_NEAR(with_a_sum("2", 3, 4, 4, 64), 8.5, kNear);  // done by a device in between
}

}  // namespace
}  // namespace argosy
