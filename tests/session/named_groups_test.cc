// Collectives whose members find each other by name or keys (TensorFlow's own), over emulated devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "argosy/graph/function_body.h"
#include "argosy/graph/gradients.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/control_flow/functional.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/runtime/session/session.h"
#include "tests/session/support/test_session.h"

namespace argosy {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

class NamedGroups : public testing::Test {
 protected:
  auto on(int gpu) { return graph_.device(str_cat("/gpu:", gpu)); }
  // A node of a group's on a device of its own.
  Value nccl(int gpu, Value x, const std::string& name, const std::string& reduction = "sum", std::int64_t size = 2) {
    const auto here = on(gpu);
    return graph_.add("NcclAllReduce", {x}, {{"reduction", reduction}, {"num_devices", size}, {"shared_name", name}});
  }
  AttrMap keys(std::int64_t instance, std::int64_t size = 2) {
    return {{"group_size", size}, {"group_key", 1}, {"instance_key", instance}};
  }
  std::vector<Value> key_inputs(std::int32_t instance, std::int32_t size = 2) {
    return {constant(graph_, size), constant(graph_, std::int32_t{1}), constant(graph_, instance)};
  }
  Value reduce(int gpu, Value x, std::int32_t instance, AttrMap attrs = {}, std::int32_t size = 2) {
    const auto here = on(gpu);
    attrs.set("merge_op", attrs.get_or<std::string>("merge_op", "Add"));
    attrs.set("final_op", attrs.get_or<std::string>("final_op", "Id"));
    std::vector<Value> inputs = key_inputs(instance, size);
    inputs.insert(inputs.begin(), x);
    attrs.set("Nordering_token", 0);
    return graph_.add("CollectiveReduceV2", inputs, attrs);
  }
  Value floats(std::vector<float> values) { return constant(graph_, Tensor::vector<float>(values)); }
  std::string run(const std::vector<Value>& values, RunOptions options = {}) {
    if (!graph_.status().ok()) return graph_.status().to_string();
    const auto out = session_.run({}, values, {}, options);
    if (!out.ok()) return out.status().to_string();
    std::string text;
    for (const Tensor& t : *out) text += t.to_string(100) + " ";
    return text;
  }
  Status fails(const std::vector<Value>& values, RunOptions options = {}) {
    EXPECT_TRUE(graph_.status().ok()) << graph_.status().to_string();
    return session_.run({}, values, {}, options).status();
  }

  Graph graph_;
  TestSession session_{graph_, {.devices = {.emulate = "3"}}};
};

TEST_F(NamedGroups, AreReduced) {
  const Value x = floats({1, -2, 3}), y = floats({10, 5, -4});
  const std::vector<std::pair<const char*, const char*>> cases = {{"sum", "float[3] {11, 3, -1}"},
                                                                  {"prod", "float[3] {10, -10, -12}"},
                                                                  {"min", "float[3] {1, -2, -4}"},
                                                                  {"max", "float[3] {10, 5, 3}"}};
  for (const auto& [reduction, expected] : cases) {
    const Value a = nccl(0, x, str_cat("c", reduction), reduction), b = nccl(1, y, str_cat("c", reduction), reduction);
    EXPECT_EQ(run({a, b}), str_cat(expected, " ", expected, " "));
  }
  EXPECT_EQ(run({nccl(2, x, "alone", "sum", 1)}), "float[3] {1, -2, 3} ");
}

TEST_F(NamedGroups, GiveMeansAndQuotients) {
  const Value x = floats({1, -2, 3}), y = floats({10, 5, -4});
  std::int32_t key = 1;
  const std::vector<std::pair<const char*, const char*>> cases = {{"Add", "float[3] {5.5, 1.5, -0.5}"},
                                                                  {"Mul", "float[3] {5, -5, -6}"},
                                                                  {"Min", "float[3] {0.5, -1, -2}"},
                                                                  {"Max", "float[3] {5, 2.5, 1.5}"}};
  for (const auto& [merge, expected] : cases) {
    const AttrMap attrs = {{"merge_op", merge}, {"final_op", "Div"}};
    const Value a = reduce(0, x, ++key, attrs), b = reduce(1, y, key, attrs);
    EXPECT_EQ(run({a, b}), str_cat(expected, " ", expected, " "));
  }
  const Value whole = constant(graph_, Tensor::vector<std::int32_t>({1, -21}));
  const AttrMap mean = {{"merge_op", "Add"}, {"final_op", "Div"}};
  const Value a = reduce(0, whole, ++key, mean),
              b = reduce(1, constant(graph_, Tensor::vector<std::int32_t>({10, -2})), key, mean);
  EXPECT_EQ(run({a, b}), "int32[2] {5, -11} int32[2] {5, -11} ");
}

TEST_F(NamedGroups, AreReducedByAttributes) {
  AttrMap attrs = keys(7);
  attrs.set("merge_op", "Add");
  attrs.set("final_op", "Id");
  attrs.set("subdiv_offsets", std::vector<std::int64_t>{0});
  std::vector<Value> sums;
  for (int gpu = 0; gpu < 2; ++gpu) {
    const auto here = on(gpu);
    sums.push_back(graph_.add("CollectiveReduce", {floats({1.0F + gpu})}, attrs));
  }
  EXPECT_EQ(run(sums), "float[1] {3} float[1] {3} ");
}

TEST_F(NamedGroups, AreGatheredInTheOrderOfTheirDevices) {
  std::vector<Value> parts(3), also(3);
  for (const int gpu : {2, 0, 1}) {
    const auto here = on(gpu);
    const Value x = constant(graph_, Tensor::of<float>({1, 2}, {static_cast<float>(gpu), 9}));
    AttrMap attrs = keys(1, 3);
    attrs.set("shape", PartialShape{0});
    parts[gpu] = graph_.add("CollectiveGather", {x}, attrs);
    std::vector<Value> inputs = key_inputs(2, 3);
    inputs.insert(inputs.begin(), x);
    also[gpu] = graph_.add("CollectiveGatherV2", inputs, {{"Nordering_token", 0}});
  }
  EXPECT_EQ(parts[0].shape().to_string(), "[3,2]");
  EXPECT_EQ(also[0].shape().to_string(), "[3,2]");
  const std::string all = "float[3,2] {0, 9, 1, 9, 2, 9} ";
  EXPECT_EQ(run(parts), all + all + all);
  EXPECT_EQ(run(also), all + all + all);
}

TEST_F(NamedGroups, AreBroadcast) {
  const Value x = constant(graph_, Tensor::of<double>({1, 2}, {1.5, 2.5}));
  AttrMap attrs = keys(1);
  attrs.set("shape", PartialShape{1, 2});
  Value sent, got;
  {
    const auto here = on(1);
    sent = graph_.add("CollectiveBcastSend", {x}, attrs);
  }
  {
    const auto here = on(0);
    attrs.set("T", DType::kFloat64);
    got = graph_.add("CollectiveBcastRecv", {}, attrs);
  }
  EXPECT_EQ(run({sent, got}), "double[1,2] {1.5, 2.5} double[1,2] {1.5, 2.5} ");
  std::vector<Value> inputs = key_inputs(2), shaped = inputs;
  inputs.insert(inputs.begin(), x);
  shaped.push_back(constant(graph_, Tensor::vector<std::int32_t>({1, 2})));
  {
    const auto here = on(0);
    sent = graph_.add("CollectiveBcastSendV2", inputs);
  }
  {
    const auto here = on(2);
    got = graph_.add("CollectiveBcastRecvV2", shaped, {{"T", DType::kFloat64}});
  }
  EXPECT_EQ(got.shape().to_string(), "[1,2]");
  EXPECT_EQ(run({sent, got}), "double[1,2] {1.5, 2.5} double[1,2] {1.5, 2.5} ");
}

// Beyond what is summed at once: the devices' communication streams do it.
TEST_F(NamedGroups, MayBeLarge) {
  std::vector<Value> sums, gathered;
  for (int gpu = 0; gpu < 3; ++gpu) {
    const auto here = on(gpu);
    const Value x = graph_.add(
        "Fill", {constant(graph_, Tensor::vector<std::int32_t>({1200, 1000})), constant(graph_, 1.0F + gpu)});
    sums.push_back(nccl(gpu, x, "large", "sum", 3));
    std::vector<Value> inputs = key_inputs(1, 3);
    inputs.insert(inputs.begin(), x);
    gathered.push_back(graph_.add("CollectiveGatherV2", inputs, {{"Nordering_token", 0}}));
  }
  for (int again = 0; again < 2; ++again) {
    const auto out = session_.run({}, {sums[0], sums[1], sums[2], gathered[1]}, {});
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    for (int gpu = 0; gpu < 3; ++gpu) EXPECT_EQ((*out)[gpu].data<float>()[1'199'999], 6);
    EXPECT_EQ((*out)[3].data<float>()[1'199'999], 1);
    EXPECT_EQ((*out)[3].data<float>()[1'200'000], 2);
    EXPECT_EQ((*out)[3].data<float>()[3'599'999], 3);
  }
}

TEST_F(NamedGroups, GradientsAreSums) {
  const Value x = placeholder(graph_, DType::kFloat32, {2}), y = placeholder(graph_, DType::kFloat32, {2});
  const Value a = nccl(0, x, "c"), b = nccl(1, y, "c");
  const Value loss = reduce_sum(a * floats({2, 3})) + reduce_sum(b * b);
  const auto d = gradients(graph_, {loss}, {x, y});
  ASSERT_TRUE(graph_.status().ok()) << graph_.status().to_string();
  const auto out = session_.run({{x, Tensor::vector<float>({1, 2})}, {y, Tensor::vector<float>({3, 4})}}, d);
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  // a = b = {4, 6}: {2, 3} + 2 b, for each of them.
  for (const Tensor& t : *out) EXPECT_EQ(t.to_string(10), "float[2] {10, 15}");
}

TEST_F(NamedGroups, CalledTwiceMeetTwice) {
  std::vector<Value> sums;
  FunctionBody body(graph_, "sum");
  const Value p = body.parameter(DType::kFloat32, {1}), q = body.parameter(DType::kFloat32, {1});
  const Value a = nccl(0, p, "c"), b = nccl(1, q, "c");
  const auto f = body.finish({a, b});
  for (int i = 0; i < 2; ++i) {
    const Value call = graph_.add("StatefulPartitionedCall", {floats({1.0F + i}), floats({10})},
                                  {{"f", FunctionRef{f->name}}, {"Tout", std::vector<DType>(2, DType::kFloat32)}});
    sums.push_back(call);
    sums.push_back(call.output(1));
  }
  EXPECT_EQ(run(sums), "float[1] {11} float[1] {11} float[1] {12} float[1] {12} ");
}

// Nobody gets a result without the others: they come along, whoever asked for it.
TEST_F(NamedGroups, BringTheOthersAlong) {
  const Value a = nccl(0, floats({1}), "c");
  nccl(1, floats({2}), "c");
  EXPECT_EQ(run({a}), "float[1] {3} ");
}

TEST_F(NamedGroups, WithoutAllMembersNothingRuns) {
  const Value a = nccl(0, floats({1}), "c");
  const Status alone = fails({a});
  EXPECT_EQ(alone.id(), "ARG-GROUP-004") << alone.to_string();
  EXPECT_EQ(alone.code(), Code::kInvalidArgument);
  EXPECT_THAT(alone.message(), HasSubstr("has 2 members, of which this step has 1: 'NcclAllReduce'"));
}

TEST_F(NamedGroups, MembersThatDoNotFitAreTold) {
  const Value x = floats({1, 2}), y = floats({1, 2, 3});
  Status status = fails({reduce(0, x, 1), reduce(1, y, 1)});
  EXPECT_EQ(status.id(), "ARG-COMM-001") << status.to_string();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("float[3]"));
  status = fails({reduce(0, x, 2), reduce(1, constant(graph_, Tensor::vector<double>({1, 2})), 2)});
  EXPECT_EQ(status.id(), "ARG-GROUP-003") << status.to_string();
  EXPECT_EQ(status.code(), Code::kInternal);
  status = fails({reduce(0, x, 3), reduce(1, x, 3, {{"merge_op", "Max"}})});
  EXPECT_EQ(status.id(), "ARG-GROUP-003") << status.to_string();
  status = fails({reduce(0, x, 4), reduce(1, x, 4, {}, 3)});
  EXPECT_EQ(status.id(), "ARG-GROUP-002") << status.to_string();
  status = fails({reduce(0, x, 5), reduce(1, x, 5), reduce(2, x, 5)});
  EXPECT_EQ(status.id(), "ARG-GROUP-005") << status.to_string();
  const Value key = placeholder(graph_, DType::kInt32, PartialShape::scalar());
  std::vector<Value> inputs = key_inputs(6);
  inputs.insert(inputs.begin(), x);
  inputs[3] = key;
  const Value open =
      graph_.add("CollectiveReduceV2", inputs, {{"merge_op", "Add"}, {"final_op", "Id"}, {"Nordering_token", 0}});
  status = session_.run({{key, Tensor::scalar(std::int32_t{6})}}, {open}).status();
  EXPECT_EQ(status.id(), "ARG-GROUP-001") << status.to_string();
  EXPECT_EQ(run({reduce(0, x, 8), reduce(1, x, 8)}), "float[2] {2, 4} float[2] {2, 4} ") << "the session goes on";
}

// One member is in a branch that is not taken.
TEST_F(NamedGroups, WhoeverWaitsTooLongGivesUp) {
  const Value x = floats({1});
  const Value never = placeholder(graph_, DType::kBool, PartialShape::scalar(), "never");
  const auto group = [&](std::int32_t instance, float seconds) {
    const AttrMap attrs = {{"timeout_seconds", seconds}};
    const Value here = reduce(0, x, instance, attrs);
    const Value there = cond_value(
        never, [&] { return reduce(1, x, instance, attrs); }, [&] { return x * floats({2}); });
    return std::vector<Value>{here, there};
  };
  const std::vector<std::pair<Value, Tensor>> feeds = {{never, Tensor::scalar(false)}};
  const auto patient = group(1, 0), impatient = group(2, 0.05F);
  ASSERT_TRUE(graph_.status().ok()) << graph_.status().to_string();
  const Status late = session_.run(feeds, impatient).status();
  EXPECT_EQ(late.id(), "ARG-GROUP-007") << late.to_string();
  EXPECT_EQ(late.code(), Code::kDeadlineExceeded);
  EXPECT_EQ(session_.run(feeds, patient, {}, {.timeout = milliseconds(50)}).status().code(), Code::kDeadlineExceeded);
  Cancellation cancellation;
  std::thread stopper([&] {
    std::this_thread::sleep_for(milliseconds(50));
    cancellation.cancel(cancelled("enough"));
  });
  EXPECT_EQ(session_.run(feeds, patient, {}, {.cancellation = &cancellation}).status().code(), Code::kCancelled);
  stopper.join();
  const auto taken = session_.run({{never, Tensor::scalar(true)}}, patient);
  ASSERT_TRUE(taken.ok()) << taken.status().to_string();
  EXPECT_EQ((*taken)[1].to_string(10), "float[1] {2}");
}

TEST_F(NamedGroups, KeysMayBeAssigned) {
  const Value table = constant(graph_, Tensor::of<std::int32_t>({2, 2}, {0, 1, 2, 3}));
  std::vector<Value> sums;
  for (std::int32_t device = 2; device < 4; ++device) {
    const auto here = on(device - 2);
    const Value group =
        graph_.add("CollectiveAssignGroupV2", {table, constant(graph_, device), constant(graph_, std::int32_t{100})});
    sums.push_back(
        graph_.add("CollectiveReduceV2",
                   {floats({static_cast<float>(device)}), group, group.output(1), constant(graph_, std::int32_t{1})},
                   {{"merge_op", "Add"}, {"final_op", "Id"}, {"Nordering_token", 0}}));
  }
  EXPECT_EQ(run(sums), "float[1] {5} float[1] {5} ");
}

TEST_F(NamedGroups, CallsRunWhereTheyAreSent) {
  FunctionBody body(graph_, "f");
  const Value p = body.parameter(DType::kFloat32, PartialShape{1});
  const auto f = body.finish({p * p});
  const Value call = graph_.add("RemoteCall", {constant(graph_, "/gpu:2"), floats({3})},
                                {{"f", FunctionRef{f->name}}, {"Tout", std::vector<DType>(1, DType::kFloat32)}});
  EXPECT_EQ(run({call}), "float[1] {9} ");
  const Value fed = placeholder(graph_, DType::kFloat32, {1});
  const Value sent = graph_.add("RemoteCall", {constant(graph_, "/gpu:2"), fed},
                                {{"f", FunctionRef{f->name}}, {"Tout", std::vector<DType>(1, DType::kFloat32)}});
  const auto report = session_.placement({{fed, Shape{1}}}, {sent}, {});
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_THAT(report->summary(), HasSubstr("GPU:2"));
}

}  // namespace
}  // namespace argosy
