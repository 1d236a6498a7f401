// ZeRO-1: slots are sharded over the devices, and every bit stays that of plain data parallelism.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "argosy/data/dataset.h"
#include "argosy/ops/activation/activation.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/testing/op_cases/op_case.h"
#include "argosy/train/loop/compiled_model.h"
#include "argosy/train/loop/sdc_check.h"
#include "argosy/train/loop/trainer.h"
#include "argosy/train/model/losses.h"
#include "argosy/train/models/models.h"

namespace argosy {
namespace {

using testing::HasSubstr;
using testing::Not;

// Wide enough that kernels are sharded, with an odd size; biases stay whole. Dropout, and a convolution whose first
// dimension is short.
ModelBuilder small_model() {
  return [](Layers& net) {
    const Value x = net.input("image", DType::kFloat32, {10, 10, 3});
    const Value labels = net.input("label", DType::kInt32, {});
    const Value seen = relu(net.conv2d(x, 68, {.window = {9, 9}}));
    const Value hidden = net.dropout(relu(net.dense(flatten(seen), 13)), 0.25);
    Model model;
    model.loss = reduce_mean(sparse_softmax_cross_entropy(net.dense(hidden, 10), labels));
    return model;
  };
}

struct Task {
  ModelBuilder model = small_model();
  Shape image = {10, 10, 3};
  bool labels = true;
  Optimizer optimizer = adam(0.003);
  MinimizeOptions minimize = {};
  std::vector<std::int64_t> batches = {16, 13, 7, 24, 3};
  int shards = 0;
  std::vector<double> speeds = {};
};

Result<std::unique_ptr<CompiledModel>> compile(const Task& task, int devices, int zero) {
  DeviceRequest request{.devices = str_cat(devices), .emulate = str_cat(devices)};
  ARGOSY_ASSIGN_OR_RETURN(auto chosen, chosen_devices(request));
  for (std::size_t d = 0; d < task.speeds.size(); ++d) chosen[d].speed = task.speeds[d];
  ARGOSY_ASSIGN_OR_RETURN(BuiltModel built, build_model(task.model, {.seed = 5}, &task.optimizer, task.minimize));
  return CompiledModel::make(std::move(built), {.devices = chosen,
                                                .session = {.devices = request, .reproducible = task.shards > 0},
                                                .shards = task.shards,
                                                .zero = zero});
}

Result<std::vector<double>> steps(CompiledModel& program, const Task& task, int count, int first = 0) {
  std::vector<double> losses;
  for (int i = first; i < first + count; ++i) {
    const std::int64_t batch = task.batches[static_cast<std::size_t>(i) % task.batches.size()];
    Tensor labels = Tensor::zeros(DType::kInt32, {batch});
    for (std::int64_t k = 0; k < batch; ++k) labels.data<std::int32_t>()[k] = static_cast<std::int32_t>(k * 7 % 10);
    std::vector<Tensor> feeds = {
        random_tensor(DType::kFloat32, task.image.inserted(0, batch), static_cast<unsigned>(i))};
    if (task.labels) feeds.push_back(labels);
    ARGOSY_ASSIGN_OR_RETURN(const double loss, program.step(feeds));
    losses.push_back(loss);
  }
  return losses;
}

Result<std::vector<tf::NamedTensor>> copies_of(CompiledModel& program) {
  ARGOSY_ASSIGN_OR_RETURN(auto values, program.variables());
  for (tf::NamedTensor& v : values) v.tensor = v.tensor.clone();
  return values;
}

struct Run {
  std::unique_ptr<CompiledModel> program;
  std::vector<double> losses;
  std::vector<tf::NamedTensor> variables;
};

Result<Run> train(const Task& task, int devices, int zero, int count) {
  Run run;
  ARGOSY_ASSIGN_OR_RETURN(run.program, compile(task, devices, zero));
  ARGOSY_RETURN_IF_ERROR(run.program->initialize());
  ARGOSY_ASSIGN_OR_RETURN(run.losses, steps(*run.program, task, count));
  ARGOSY_ASSIGN_OR_RETURN(run.variables, copies_of(*run.program));
  return run;
}

void expect_equal_bits(const std::vector<tf::NamedTensor>& got, const std::vector<tf::NamedTensor>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].name, expected[i].name);
    const Tensor &a = got[i].tensor, &b = expected[i].tensor;
    ASSERT_EQ(a.shape().to_string(), b.shape().to_string()) << got[i].name;
    EXPECT_EQ(a.dtype(), b.dtype()) << got[i].name;
    EXPECT_EQ(std::memcmp(a.raw(), b.raw(), a.bytes()), 0) << got[i].name << ": " << difference(a, b, 0);
  }
}

// Both, and what they print.
void expect_zero_is_plain(const Task& task, int devices, int count, const std::string& what) {
  SCOPED_TRACE(str_cat(what, " on ", devices, " devices"));
  const auto plain = train(task, devices, 0, count), zero = train(task, devices, 1, count);
  ASSERT_TRUE(plain.ok()) << plain.status().to_string();
  ASSERT_TRUE(zero.ok()) << zero.status().to_string();
  EXPECT_EQ(zero->losses, plain->losses);
  expect_equal_bits(zero->variables, plain->variables);
}

TEST(Zero, EveryOptimizerHasTheBitsOfPlainDataParallelism) {
  for (const char* name : {"sgd", "momentum", "nesterov", "adagrad", "adadelta", "rmsprop", "adam", "adamw", "ftrl"}) {
    const Task task{.optimizer = *optimizer_by_name(name, 0.01)};
    for (const int devices : {2, 3, 4, 8}) {
      expect_zero_is_plain(task, devices, 5, name);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Zero, TwentyStepsOfModelsOnAnyNumberOfDevices) {
  const models::ClassifierOptions shape{.image_size = 28, .channels = 1, .classes = 10};
  const std::vector<std::pair<std::string, Task>> tasks = {
      {"mlp", {.model = models::mlp(shape, 256, 256), .image = {28, 28, 1}, .batches = {64, 64, 37, 50}}},
      {"lenet", {.model = models::lenet(shape), .image = {28, 28, 1}, .batches = {32, 37, 50}}},
      {"autoencoder",
       {.model = models::autoencoder({.image_size = 32, .depth = 4, .width = 32}),
        .image = {32, 32, 3},
        .labels = false,
        .batches = {64, 50}}}};
  for (const auto& [name, task] : tasks) {
    const auto one = train(task, 1, 1, 20);
    ASSERT_TRUE(one.ok()) << one.status().to_string();
    for (const int devices : {2, 4, 8}) {
      SCOPED_TRACE(str_cat(name, " on ", devices));
      const auto many = train(task, devices, 1, 20);
      ASSERT_TRUE(many.ok()) << many.status().to_string();
      expect_equal_bits(many->variables, one->variables);
    }
  }
}

TEST(Zero, DropoutOddBatchesAndUnequalDevices) {
  expect_zero_is_plain({}, 3, 25, "dropout");
  expect_zero_is_plain({.speeds = {1, 0.5}}, 2, 25, "a slow device");
  expect_zero_is_plain({.speeds = {0.25, 1, 0.7}}, 3, 5, "three speeds");
  expect_zero_is_plain({.batches = {1, 2, 3}}, 4, 6, "fewer examples than devices");
}

TEST(Zero, LogicalShards) {
  const Task task{.shards = 8};
  const auto one = train(task, 1, 1, 10);
  ASSERT_TRUE(one.ok()) << one.status().to_string();
  for (const int devices : {2, 3, 4, 8}) {
    SCOPED_TRACE(devices);
    const auto many = train(task, devices, 1, 10);
    ASSERT_TRUE(many.ok()) << many.status().to_string();
    EXPECT_EQ(many->losses, one->losses);
    expect_equal_bits(many->variables, one->variables);
  }
}

// What reads the whole gradient: it is summed whole then.
TEST(Zero, Clipping) {
  expect_zero_is_plain({.minimize = {.clip_global_norm = 0.1}}, 4, 6, "by the global norm");
  expect_zero_is_plain({.minimize = {.clip_norm = 0.05}}, 3, 6, "by each norm");
  expect_zero_is_plain({.minimize = {.clip_value = 0.001}}, 2, 6, "by value");
}

TEST(Zero, SaysWhatItDoes) {
  auto program = compile({}, 4, 1);
  ASSERT_TRUE(program.ok()) << program.status().to_string();
  const std::string text = (*program)->parallel().summary();
  // Kernels of the convolution and of the first dense layer; the last one and biases are small.
  EXPECT_THAT(text, HasSubstr("slots sharded over 4 devices (ZeRO-1): 4 slots of 2 variables"));
  EXPECT_THAT(text, HasSubstr("2 sums in "));
  EXPECT_THAT(text, HasSubstr("reduce-scatter"));
  EXPECT_THAT(text, Not(HasSubstr("on every device")));
  program = compile({.optimizer = sgd(0.1)}, 4, 1);
  ASSERT_TRUE(program.ok()) << program.status().to_string();
  EXPECT_THAT((*program)->parallel().summary(), HasSubstr("no slots to shard (ZeRO-1)"));
  program = compile({}, 4, 2);
  EXPECT_THAT(program.status().to_string(), HasSubstr("zero is 2"));
}

// Values come and go whole, whatever the strategy and the number of devices.
TEST(Zero, ValuesMoveBetweenStrategies) {
  const Task task;
  auto plain = train(task, 4, 0, 6);
  ASSERT_TRUE(plain.ok()) << plain.status().to_string();
  std::vector<tf::NamedTensor> values;
  int done = 0;
  for (const auto& [devices, zero] : {std::pair{4, 0}, {4, 1}, {4, 0}}) {
    const auto program = compile(task, devices, zero);
    ASSERT_TRUE(program.ok()) << program.status().to_string();
    ASSERT_TRUE((*program)->initialize(values).ok());
    ASSERT_TRUE(steps(**program, task, 2, done).ok());
    done += 2;
    values = *copies_of(**program);
  }
  expect_equal_bits(values, plain->variables);
  for (const auto& [devices, zero] : {std::pair{2, 1}, {3, 1}, {1, 1}, {8, 1}, {1, 0}}) {
    const auto program = compile(task, devices, zero);
    ASSERT_TRUE(program.ok()) << program.status().to_string();
    ASSERT_TRUE((*program)->initialize(values).ok());
    expect_equal_bits(*copies_of(**program), values);
  }
}

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Zero, CheckpointsAreThoseOfPlainDataParallelism) {
  const auto data = data::open_dataset("synthetic", {.image_size = 28, .channels = 1, .examples = 64});
  ASSERT_TRUE(data.ok()) << data.status().to_string();
  const std::string folder = str_cat(testing::TempDir(), "/zero_checkpoints");
  std::filesystem::remove_all(folder);
  const auto run = [&](const std::string& name, int zero, std::int64_t until, bool resume) {
    TrainerOptions options{.optimizer = adam(0.001),
                           .strategy = {.zero = zero},
                           .batch = 32,
                           .steps = until,
                           .seed = 3,
                           .checkpoint_dir = folder + "/" + name,
                           .resume = resume,
                           .log_every = 0,
                           .check_replicas_every = 1,
                           .check_steps = 1,
                           .verdict = false};
    options.devices.devices = options.devices.emulate = "4";
    auto trainer = Trainer::make(models::mlp({}, 256, 256), options);
    EXPECT_TRUE(trainer.ok()) << trainer.status().to_string();
    if (!trainer.ok()) return TrainReport();
    auto report = (*trainer)->fit(**data);
    EXPECT_TRUE(report.ok()) << report.status().to_string();
    if (!report.ok()) return TrainReport();
    EXPECT_EQ(report->checked_steps, 1) << report->not_checked;
    return *std::move(report);
  };
  const TrainReport plain = run("plain", 0, 6, false), zero = run("zero", 1, 6, false);
  EXPECT_EQ(zero.losses, plain.losses);
  EXPECT_THAT(zero.strategy, HasSubstr("slots sharded over 4 devices (ZeRO-1)"));
  ASSERT_FALSE(plain.checkpoint.empty());
  ASSERT_FALSE(zero.checkpoint.empty());
  for (const char* file : {".index", ".data-00000-of-00001"}) {
    EXPECT_EQ(contents(zero.checkpoint + file), contents(plain.checkpoint + file)) << file;
    EXPECT_FALSE(contents(zero.checkpoint + file).empty()) << file;
  }
  // Two steps each way.
  run("turns", 0, 2, false);
  run("turns", 1, 4, true);
  const TrainReport last = run("turns", 0, 6, true);
  EXPECT_EQ(last.first_step, 4);
  EXPECT_EQ(contents(last.checkpoint + ".data-00000-of-00001"), contents(plain.checkpoint + ".data-00000-of-00001"));
  std::filesystem::remove_all(folder);
}

// The verdict runs one device and all in turn: whole slots of the one are others than the shards of all.
TEST(Zero, HasAVerdict) {
  const auto data = data::open_dataset("synthetic", {.image_size = 28, .channels = 1, .examples = 64});
  ASSERT_TRUE(data.ok()) << data.status().to_string();
  for (const int accumulate : {1, 2}) {
    TrainerOptions options{.optimizer = adam(0.001),
                           .strategy = {.accumulate = accumulate, .zero = 1},
                           .batch = 32,
                           .steps = 8,
                           .log_every = 0};
    options.devices.devices = options.devices.emulate = "2";
    auto trainer = Trainer::make(models::mlp({}, 256, 256), options);
    ASSERT_TRUE(trainer.ok()) << trainer.status().to_string();
    const auto report = (*trainer)->fit(**data);
    ASSERT_TRUE(report.ok()) << report.status().to_string();
    EXPECT_GT(report->verdict.samples_per_second, 0);
  }
}

TEST(Zero, ShardsAreNoMirrors) {
  auto run = train({}, 2, 1, 2);
  ASSERT_TRUE(run.ok()) << run.status().to_string();
  const auto& names = run->program->mirrored();
  EXPECT_THAT(names, testing::Contains("dense/kernel"));
  EXPECT_THAT(names, Not(testing::Contains("dense/kernel/Adam")));
  EXPECT_THAT(names, testing::Contains("dense_1/kernel/Adam"));  // small
  const auto chosen = chosen_devices({.devices = "2", .emulate = "2"});
  SdcCheck check(*run->program, *chosen, {});
  const Status same = check.check();
  EXPECT_TRUE(same.ok()) << same.to_string();
}

// Slots of Adam are 8 bytes a parameter; a quarter of them on each of four devices.
TEST(Zero, MemoryFalls) {
  const Task task{.model = models::mlp({}, 1024, 512), .image = {28, 28, 1}, .batches = {32}};
  std::uint64_t variables[2] = {}, total[2] = {}, measured[2] = {};
  double parameters = 0;
  for (const int zero : {0, 1}) {
    const auto run = train(task, 4, zero, 3);
    ASSERT_TRUE(run.ok()) << run.status().to_string();
    const auto forecast = run->program->forecast(32);
    ASSERT_TRUE(forecast.ok()) << forecast.status().to_string();
    for (const MemoryForecast& f : *forecast) {
      if (f.device.type != "GPU") continue;
      EXPECT_TRUE(f.exact);
      variables[zero] = std::max(variables[zero], f.variable_bytes);
      total[zero] = std::max(total[zero], f.total_bytes());
    }
    parameters = 0;
    for (const VariableNode& v : run->program->built().variables) {
      if (!std::string_view(v.ref.node_name()).ends_with("Adam")) continue;
      parameters += static_cast<double>(v.shape().elements());
    }
    const DeviceSet& devices = run->program->session().device_set();
    for (int d = 1; d < devices.size(); ++d) {
      measured[zero] = std::max<std::uint64_t>(measured[zero], devices.device(d).allocator().stats().peak_bytes);
    }
  }
  const double slots_plain = static_cast<double>(variables[0]) - 4 * parameters;
  const double slots_zero = static_cast<double>(variables[1]) - 4 * parameters;
  EXPECT_LT(slots_zero, 0.26 * slots_plain) << variables[0] << " and " << variables[1];
  // At least 0.7 of the slots' bytes are saved at the peak, too.
  EXPECT_LT(static_cast<double>(total[1]), static_cast<double>(total[0]) - 0.7 * 8 * parameters);
  EXPECT_LT(static_cast<double>(measured[1]), static_cast<double>(measured[0]) - 0.7 * 8 * parameters);
}

}  // namespace
}  // namespace argosy
