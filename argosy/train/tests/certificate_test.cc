// The certificate: what a training run says it takes of each device, before its first step, beside what it took. Never
// less; at most 5 % more. Models, optimizers, strategies and numbers of devices; the state is the devices' own. With
// ARGOSY_LONG=1: every product of them.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "argosy/train/loop/trainer.h"
#include "argosy/train/models/models.h"
#include "argosy/train/models/sorting_task.h"

namespace argosy {
namespace {

struct Task {
  std::string name;
  ModelBuilder model;
  std::int64_t batch = 64;
  int image_size = 28;
  int channels = 1;
};

std::vector<Task> tasks() {
  const models::ClassifierOptions shape{.image_size = 28, .channels = 1, .classes = 10, .dropout = 0.3};
  return {
      {.name = "mlp", .model = models::mlp(shape, 256), .batch = 128},
      {.name = "lenet", .model = models::lenet(shape)},
      {.name = "autoencoder",
       .model = models::autoencoder({.image_size = 32, .depth = 3, .width = 16, .dropout = 0.2}),
       .image_size = 32,
       .channels = 3},
      {.name = "resnet",
       .model = models::resnet({.image_size = 16, .channels = 3, .classes = 10}, 20),
       .batch = 32,
       .image_size = 16,
       .channels = 3},
      {.name = "transformer", .model = models::transformer({}), .batch = 32},
  };
}

struct Setting {
  int devices = 1;
  StrategySpec strategy = {};
  std::string optimizer = "adam";
  std::string to_string() const { return str_cat(devices, " devices, ", strategy.to_string(), ", ", optimizer); }
};

std::vector<Setting> settings() {
  const std::vector<Setting> few = {{1, {}, "sgd"},
                                    {1, {.accumulate = 2}, "adam"},
                                    {2, {}, "sgd"},
                                    {2, {}, "adam"},
                                    {2, {.zero = 1}, "adam"},
                                    {2, {.accumulate = 2}, "momentum"},
                                    {4, {.accumulate = 2, .zero = 1}, "adam"}};
  if (std::getenv("ARGOSY_LONG") == nullptr) return few;
  std::vector<Setting> all;
  for (const int devices : {1, 2, 4, 8}) {
    for (const int accumulate : {1, 2, 4}) {
      for (const int zero : {0, 1}) {
        for (const char* optimizer : {"sgd", "momentum", "adagrad", "adam"}) {
          if (devices > 1 || zero == 0) all.push_back({devices, {.accumulate = accumulate, .zero = zero}, optimizer});
        }
      }
    }
  }
  return all;
}

Optimizer optimizer_of(const std::string& name) {
  if (name == "sgd") return sgd(0.01);
  if (name == "momentum") return momentum(0.01, 0.9);
  if (name == "adagrad") return adagrad(0.01);
  return adam(0.001);
}

Result<std::unique_ptr<data::Dataset>> data_for(const Task& task) {
  if (task.name == "transformer") return models::sorting_task(16, 32, 2 * task.batch, 5);
  return data::open_dataset("synthetic",
                            {.image_size = task.image_size, .channels = task.channels, .examples = 2 * task.batch});
}

class Certificate : public testing::TestWithParam<int> {};

TEST_P(Certificate, IsNeverLessThanWhatIsTaken) {
  const Task task = tasks()[static_cast<std::size_t>(GetParam())];
  const auto data = data_for(task);
  ASSERT_TRUE(data.ok()) << data.status().to_string();
  double most = 0;
  for (const Setting& setting : settings()) {
    SCOPED_TRACE(setting.to_string());
    TrainerOptions options{.optimizer = optimizer_of(setting.optimizer),
                           .strategy = setting.strategy,
                           .batch = task.batch,
                           .steps = 2,
                           .log_every = 0,
                           .verdict = false};
    options.devices.devices = options.devices.emulate = str_cat(setting.devices);
    const auto trainer = Trainer::make(task.model, options);
    ASSERT_TRUE(trainer.ok()) << trainer.status().to_string();
    const auto report = (*trainer)->fit(**data, task.name == "transformer" ? nullptr : data->get());
    ASSERT_TRUE(report.ok()) << report.status().to_string();
    for (const auto& [device, taken] : report->peak_bytes) {
      std::uint64_t planned = 0;
      for (const auto& [name, bytes] : report->planned_bytes) planned += name == device ? bytes : 0;
      if (planned == 0) continue;  // it is the host, and takes no part
      EXPECT_GE(planned, taken) << device;
      EXPECT_LE(static_cast<double>(planned), 1.05 * static_cast<double>(taken) + 4096) << device;
      if (taken > (1 << 20)) most = std::max(most, static_cast<double>(planned) / static_cast<double>(taken));
    }
  }
  std::printf("%s: %zu runs, planned at most %.4f of what was taken\n", task.name.c_str(), settings().size(), most);
}

INSTANTIATE_TEST_SUITE_P(Models, Certificate, testing::Values(0, 1, 2, 3, 4),
                         [](const auto& param) { return tasks()[static_cast<std::size_t>(param.param)].name; });

}  // namespace
}  // namespace argosy
