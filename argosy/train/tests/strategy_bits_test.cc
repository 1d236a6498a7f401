// The bits of one device under every strategy: dp, micro-batches, sharded slots, and their products, on 1, 2, 4 and 8
// devices; and the state of any of them goes on under any other. With ARGOSY_LONG=1: a hundred steps of three models.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>

#include "argosy/testing/op_cases/op_case.h"
#include "argosy/train/loop/compiled_model.h"
#include "argosy/train/models/models.h"

namespace argosy {
namespace {

struct Task {
  std::string name;
  ModelBuilder model;
  Shape image;
  bool labels = true;
  std::int64_t batch = 64;
};

std::vector<Task> tasks() {
  const models::ClassifierOptions shape{.image_size = 28, .channels = 1, .classes = 10, .dropout = 0.3};
  return {{.name = "mlp", .model = models::mlp(shape, 128), .image = {28, 28, 1}},
          {.name = "lenet", .model = models::lenet(shape), .image = {28, 28, 1}},
          {.name = "autoencoder",
           .model = models::autoencoder({.image_size = 32, .depth = 3, .width = 16, .dropout = 0.2}),
           .image = {32, 32, 3},
           .labels = false}};
}

struct Strategy {
  int devices = 1, accumulate = 1, zero = 0;
  std::string to_string() const { return str_cat("dp=", devices, ",accumulate=", accumulate, ",zero=", zero); }
};

// Whose shards are whole reduction chunks: devices * accumulate is 1, 2, 4 or 8.
std::vector<Strategy> strategies() {
  std::vector<Strategy> all;
  for (const int devices : {1, 2, 4, 8}) {
    for (const int accumulate : {1, 2, 4, 8}) {
      if (devices * accumulate > 8) continue;
      for (const int zero : {0, 1}) {
        if (zero == 0 || devices > 1) all.push_back({devices, accumulate, zero});
      }
    }
  }
  return all;
}

Result<std::unique_ptr<CompiledModel>> compile(const Task& task, const Strategy& strategy) {
  const DeviceRequest request{.devices = str_cat(strategy.devices), .emulate = str_cat(strategy.devices)};
  ARGOSY_ASSIGN_OR_RETURN(const auto devices, chosen_devices(request));
  const Optimizer optimizer = adam(0.001);
  ARGOSY_ASSIGN_OR_RETURN(BuiltModel built, build_model(task.model, {.seed = 5}, &optimizer));
  return CompiledModel::make(std::move(built), {.devices = devices,
                                                .session = {.devices = request, .trace_path = ""},
                                                .accumulate = strategy.accumulate,
                                                .zero = strategy.zero});
}

Status train(CompiledModel& program, const Task& task, int first, int count) {
  for (int i = first; i < first + count; ++i) {
    Tensor labels = Tensor::zeros(DType::kInt32, {task.batch});
    for (std::int64_t k = 0; k < task.batch; ++k)
      labels.data<std::int32_t>()[k] = static_cast<std::int32_t>((k * 7 + i) % 10);
    std::vector<Tensor> feeds = {
        random_tensor(DType::kFloat32, task.image.inserted(0, task.batch), static_cast<unsigned>(i))};
    if (task.labels) feeds.push_back(labels);
    ARGOSY_RETURN_IF_ERROR(program.step(feeds).status());
  }
  return ok_status();
}

Result<std::vector<tf::NamedTensor>> copies_of(CompiledModel& program) {
  ARGOSY_ASSIGN_OR_RETURN(auto values, program.variables());
  for (tf::NamedTensor& v : values) v.tensor = v.tensor.clone();
  return values;
}

// After `steps` steps, from these values or from the initial ones.
Result<std::vector<tf::NamedTensor>> state_after(const Task& task, const Strategy& strategy, int first, int steps,
                                                 std::span<const tf::NamedTensor> from = {}) {
  ARGOSY_ASSIGN_OR_RETURN(const auto program, compile(task, strategy));
  ARGOSY_RETURN_IF_ERROR(program->initialize(from));
  ARGOSY_RETURN_IF_ERROR(train(*program, task, first, steps));
  return copies_of(*program);
}

// The first variable with other bits; "": none.
std::string other_bits(const std::vector<tf::NamedTensor>& got, const std::vector<tf::NamedTensor>& expected) {
  if (got.size() != expected.size()) return str_cat(got.size(), " variables, not ", expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const Tensor &a = got[i].tensor, &b = expected[i].tensor;
    if (got[i].name != expected[i].name || a.shape() != b.shape() || a.dtype() != b.dtype()) return got[i].name;
    if (std::memcmp(a.raw(), b.raw(), a.bytes()) != 0) return str_cat(got[i].name, ": ", difference(a, b, 0));
  }
  return "";
}

bool is_long() { return std::getenv("ARGOSY_LONG") != nullptr; }

class StrategyBits : public testing::TestWithParam<int> {};

TEST_P(StrategyBits, OfOneDeviceUnderEveryStrategy) {
  const Task task = tasks()[static_cast<std::size_t>(GetParam())];
  const int steps = is_long() ? 100 : 3;
  const auto one = state_after(task, {}, 0, steps);
  ASSERT_TRUE(one.ok()) << one.status().to_string();
  int equal = 0, tried = 0;
  for (const Strategy& strategy : strategies()) {
    const auto got = state_after(task, strategy, 0, steps);
    ASSERT_TRUE(got.ok()) << strategy.to_string() << ": " << got.status().to_string();
    const std::string other = other_bits(*got, *one);
    EXPECT_EQ(other, "") << strategy.to_string();
    equal += other.empty() ? 1 : 0;
    ++tried;
  }
  std::printf("%s: variables and slots after %d steps: %d of %d strategies have the bits of one device\n",
              task.name.c_str(), steps, equal, tried);
}

// What one strategy leaves, another goes on from; all of them end with the same bits.
TEST_P(StrategyBits, TheStateOfOneGoesOnUnderAnother) {
  const Task task = tasks()[static_cast<std::size_t>(GetParam())];
  const std::vector<Strategy> all = strategies();
  const auto whole = state_after(task, {}, 0, 4);
  ASSERT_TRUE(whole.ok()) << whole.status().to_string();
  std::vector<std::vector<tf::NamedTensor>> saved;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!is_long() && i % 4 != 2) continue;
    auto state = state_after(task, all[i], 0, 2);
    ASSERT_TRUE(state.ok()) << state.status().to_string();
    saved.push_back(*std::move(state));
  }
  int pairs = 0;
  for (const auto& state : saved) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!is_long() && i % 4 != 1) continue;
      const auto end = state_after(task, all[i], 2, 2, state);
      ASSERT_TRUE(end.ok()) << end.status().to_string();
      EXPECT_EQ(other_bits(*end, *whole), "") << all[i].to_string();
      ++pairs;
    }
  }
  std::printf("%s: %d pairs of strategies, one saved and the other restored\n", task.name.c_str(), pairs);
}

INSTANTIATE_TEST_SUITE_P(Models, StrategyBits, testing::Values(0, 1, 2),
                         [](const auto& param) { return tasks()[static_cast<std::size_t>(param.param)].name; });

}  // namespace
}  // namespace argosy
