// Optimizer updates of variables of all sizes: one launch, and the CPU's results.
#include <gmock/gmock.h>

#include <algorithm>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/optimizer/optimizer.h"
#include "argosy/ops/state/state.h"
#include "argosy/runtime/session/session.h"
#include "argosy/testing/op_cases/op_case.h"
#include "tests/fake_gpu/support/fake_driver_kernels.h"

namespace argosy {
namespace {

struct Task {
  Graph graph;
  std::vector<VariableNode> variables;
  Value train, first;

  Task(const std::string& rule, const std::vector<Shape>& shapes) {
    const Value lr = constant(graph, 0.01f), beta = constant(graph, 0.9f), epsilon = constant(graph, 1e-3f);
    std::vector<Value> updates, initializers;
    std::uint64_t seed = 0;
    for (const Shape& shape : shapes) {
      const auto make = [&](const char* name) {
        Tensor value = random_tensor(DType::kFloat32, shape, ++seed);
        for (float& v : value.values<float>()) v = std::abs(v);  // a second moment is never negative
        variables.push_back(variable(graph, value, name));
        initializers.push_back(variables.back().initializer.control());
        return variables.back();
      };
      const VariableNode w = make("w");
      const Value grad = constant(graph, random_tensor(DType::kFloat32, shape, ++seed));
      if (rule == "sgd") updates.push_back(apply_gradient_descent(w, lr, grad).control());
      if (rule == "nesterov") updates.push_back(apply_momentum(w, make("accum"), lr, grad, beta, true).control());
      if (rule == "adam") {
        updates.push_back(apply_adam(w, make("m"), make("v"), beta, beta, lr, beta, beta, epsilon, grad).control());
      }
    }
    train = graph.add("NoOp", updates, {}, "train");
    first = graph.add("NoOp", initializers, {}, "first");
  }

  std::vector<Tensor> after_steps(const DeviceRequest& devices) {
    Session session(graph, {.devices = devices});
    EXPECT_TRUE(session.run_targets({first}).ok());
    for (int step = 0; step < 3; ++step) {
      const Status status = session.run_targets({train});
      EXPECT_TRUE(status.ok()) << status.to_string();
    }
    std::vector<Value> reads;
    for (const VariableNode& v : variables) reads.push_back(v.read);
    auto values = session.run(reads);
    EXPECT_TRUE(values.ok()) << values.status().to_string();
    return values.ok() ? *std::move(values) : std::vector<Tensor>();
  }
};

class Updates : public ::testing::TestWithParam<std::string> {
 protected:
  // A GPU has the CPU's variables after so many launches of updates.
  void expect_launches(Task& task, int launches) {
    const std::vector<Tensor> expected = task.after_steps({.devices = "cpu:0"});
    cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(1), cuda::fake::with_kernels());
    const std::vector<Tensor> got = task.after_steps(machine.request("gpu:0"));
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(difference(got[i], expected[i], 1e-5), "") << i;
    const std::vector<std::string> kernels = machine.driver().kernels();
    EXPECT_EQ(
        std::count_if(kernels.begin(), kernels.end(), [](const std::string& k) { return k.starts_with("apply_"); }),
        launches);
  }
};

TEST_P(Updates, OfAllSizesAreOneLaunch) {
  const std::vector<Shape> shapes = {{0}, {}, {1023}, {1024}, {1025}, {3, 5}, {200, 100}, {128, 129}, {2}};
  Task task(GetParam(), shapes);
  expect_launches(task, 3);
}

// More than a launch's table holds.
TEST_P(Updates, OfVeryManyAreAFewLaunches) {
  Task task(GetParam(), std::vector<Shape>(100, Shape{3}));
  expect_launches(task, 2 * 3);
}

INSTANTIATE_TEST_SUITE_P(Rules, Updates, ::testing::Values("sgd", "nesterov", "adam"),
                         [](const auto& param) { return param.param; });

// What batch normalisation follows: one launch for all that are added to, one for all that are subtracted from, and the
// CPU's bits.
TEST(UpdatesOfSums, ShareALaunch) {
  Graph graph;
  std::vector<Value> reads, first, sums;
  std::uint64_t seed = 0;
  for (int i = 0; i < 10; ++i) {
    const VariableNode v = variable(graph, random_tensor(DType::kFloat32, {5 + i}, ++seed), "v");
    const Value by = constant(graph, random_tensor(DType::kFloat32, {5 + i}, ++seed));
    sums.push_back((i < 6 ? assign_sub(v, by) : assign_add(v, by)).control());
    first.push_back(v.initializer.control());
    reads.push_back(v.read);
  }
  const Value train = graph.add("NoOp", sums, {}, "train"), start = graph.add("NoOp", first, {}, "start");
  const auto after_three = [&](const DeviceRequest& devices) {
    Session session(graph, {.devices = devices});
    EXPECT_TRUE(session.run_targets({start}).ok());
    for (int i = 0; i < 3; ++i) {
      const Status status = session.run_targets({train});
      EXPECT_TRUE(status.ok()) << status.to_string();
    }
    return session.run(reads).value();
  };
  const std::vector<Tensor> expected = after_three({.devices = "cpu:0"});
  cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(1), cuda::fake::with_kernels());
  const std::vector<Tensor> found = after_three(machine.request("gpu:0"));
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(difference(found[i], expected[i], 0), "") << i;
  const std::vector<std::string> kernels = machine.driver().kernels();
  EXPECT_EQ(std::count(kernels.begin(), kernels.end(), "apply_GradientDescent_0_f32"), 2 * 3);
  EXPECT_EQ(std::count(kernels.begin(), kernels.end(), "binary_Add_f32"), 0);
  EXPECT_EQ(std::count(kernels.begin(), kernels.end(), "binary_Sub_f32"), 0);
}

}  // namespace
}  // namespace argosy
