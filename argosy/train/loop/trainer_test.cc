#include "argosy/train/loop/trainer.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "argosy/base/system/test_files.h"
#include "argosy/formats/checkpoint/checkpoint.h"
#include "argosy/formats/checkpoint/checkpoint_directory.h"
#include "argosy/formats/events/events.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/train/loop/compiled_model.h"
#include "argosy/train/loop/ensemble.h"
#include "argosy/train/test_data.h"

namespace argosy {
namespace {

TrainerOptions options_for(const std::string& devices, std::int64_t steps = 12) {
  TrainerOptions o{.optimizer = adam(0.02), .batch = 10, .steps = steps, .seed = 5, .verdict = false};
  o.devices.devices = devices;
  if (devices != "cpu:0") o.devices.emulate = devices;
  return o;
}

Result<TrainReport> train(const ModelBuilder& model, TrainerOptions options, std::int64_t examples = 64) {
  ARGOSY_ASSIGN_OR_RETURN(const auto trainer, Trainer::make(model, std::move(options)));
  const Sectors data(examples), test(50);
  return trainer->fit(data, &test);
}

TEST(CompiledModel, AVariableWithoutAValueHasAnErrorOfItsOwn) {
  const Optimizer optimizer = adam(0.02);
  const DeviceRequest request{.devices = "cpu:0"};
  auto built = build_model(sector_model(16, 0.3), {.seed = 5}, &optimizer);
  ASSERT_TRUE(built.ok()) << built.status().to_string();
  const auto program =
      CompiledModel::make(*std::move(built), {.devices = *chosen_devices(request), .session = {.devices = request}});
  ASSERT_TRUE(program.ok()) << program.status().to_string();
  ASSERT_TRUE((*program)->initialize().ok());
  auto values = *(*program)->variables();
  EXPECT_TRUE((*program)->initialize(values).ok());
  values.pop_back();
  EXPECT_EQ((*program)->initialize(values).id(), "ARG-CKPT-013");
}

// A sum where the loss says mean, a wrong bit on the second device: told with the value and the step.
TEST(Trainer, FirstStepsAreComparedWithOneDevice) {
  TrainerOptions options = options_for("2", 6);
  options.check_steps = 4;
  options.batch = 7;
  const auto sound = train(sector_model(16, 0.3), options);
  ASSERT_TRUE(sound.ok()) << sound.status().to_string();
  EXPECT_EQ(sound->checked_steps, 4);
  EXPECT_EQ(sound->not_checked, "");
  EXPECT_EQ(sound->losses.size(), 6U);
  options.check_steps = 0;
  const auto plain = train(sector_model(16, 0.3), options);
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->losses, sound->losses);  // a check leaves nothing behind

  options.loss_placement = PlacementKind::kPartialSum;
  const auto summed = train(sector_model(), options);
  EXPECT_EQ(summed.status().id(), "ARG-DP-002") << summed.status().to_string();  // it is a mean

  options.check_steps = 4;
  options.loss_placement.reset();
  int told = 0;
  for (int n = 5; n <= 60; n += 5) {
    options.devices.faults = str_cat("gpu:1:flip=", n);
    options.check_replicas_every = 0;
    const auto flipped = train(sector_model(), options);
    if (flipped.ok()) continue;
    EXPECT_EQ(flipped.status().id(), "ARG-CHECK-001") << flipped.status().to_string();
    ++told;
  }
  EXPECT_GE(told, 3);

  TrainerOptions one = options_for("1", 2);
  one.check_steps = 3;
  const auto alone = train(sector_model(), one);
  ASSERT_TRUE(alone.ok());
  EXPECT_EQ(alone->checked_steps, 0);
  EXPECT_NE(alone->not_checked.find("one device"), std::string::npos);
}

// Micro-batches change what a step needs, not what it does: it is checked against the global batch at once.
TEST(Trainer, MicroBatchesLearnTheSame) {
  const auto whole = train(sector_model(16, 0.3), options_for("cpu:0", 40));
  ASSERT_TRUE(whole.ok()) << whole.status().to_string();
  for (const char* devices : {"cpu:0", "2"}) {
    TrainerOptions options = options_for(devices, 40);
    options.strategy.accumulate = 4;
    options.check_steps = 3;
    const auto turns = train(sector_model(16, 0.3), options);
    ASSERT_TRUE(turns.ok()) << turns.status().to_string();
    EXPECT_EQ(turns->checked_steps, 3) << turns->not_checked;
    for (std::size_t i = 0; i < 20; ++i) EXPECT_NEAR(turns->losses[i], whole->losses[i], 1e-5) << i;
    EXPECT_EQ(turns->evaluation, whole->evaluation);
    EXPECT_NE(turns->strategy.find("4 micro-batches"), std::string::npos) << turns->strategy;
  }
}

TEST(Trainer, LearnsTheSameOnOneDeviceAndOnTwo) {
  const auto one = train(sector_model(), options_for("cpu:0", 150));
  ASSERT_TRUE(one.ok()) << one.status().to_string();
  EXPECT_EQ(one->losses.size(), 150u);
  ASSERT_EQ(one->evaluation.size(), 1u);
  EXPECT_GT(one->evaluation[0].second, 0.9);
  const auto two = train(sector_model(), options_for("2", 150));
  ASSERT_TRUE(two.ok()) << two.status().to_string();
  for (std::size_t i = 0; i < 20; ++i) EXPECT_NEAR(two->losses[i], one->losses[i], 1e-5) << i;
  EXPECT_NE(two->strategy.find("2 devices"), std::string::npos) << two->strategy;
}

TEST(Trainer, EvaluationCountsEverySampleOnceOnAnyNumberOfDevices) {
  const Sectors test(37);
  std::vector<double> accuracies;
  for (const char* devices : {"cpu:0", "2", "3"}) {
    TrainerOptions options = options_for(devices, 5);
    options.batch = 8;
    const auto trainer = Trainer::make(sector_model(), options);
    ASSERT_TRUE(trainer.ok());
    ASSERT_TRUE((*trainer)->fit(Sectors(64)).ok());
    const auto evaluation = (*trainer)->evaluate(test);
    ASSERT_TRUE(evaluation.ok()) << evaluation.status().to_string();
    accuracies.push_back((*evaluation)[0].second);
    const double hits = accuracies.back() * 37;
    EXPECT_NEAR(hits, std::round(hits), 1e-4);
  }
  EXPECT_EQ(accuracies[0], accuracies[1]);
  EXPECT_EQ(accuracies[0], accuracies[2]);
}

TEST(Trainer, AResumedRunSeesWhatItWouldHaveSeen) {
  const TempDirectory whole_dir, parts_dir;
  TrainerOptions whole = options_for("cpu:0", 23);
  whole.checkpoint_dir = whole_dir.path();
  const auto expected = train(sector_model(16, 0.3), whole);
  ASSERT_TRUE(expected.ok()) << expected.status().to_string();

  std::vector<double> losses;
  for (const std::int64_t until : {7, 8, 23}) {
    TrainerOptions part = options_for("cpu:0", until);
    part.checkpoint_dir = parts_dir.path();
    part.resume = true;
    const auto report = train(sector_model(16, 0.3), part);
    ASSERT_TRUE(report.ok()) << report.status().to_string();
    EXPECT_EQ(report->first_step, static_cast<std::int64_t>(losses.size()));
    EXPECT_EQ(report->steps, until);
    losses.insert(losses.end(), report->losses.begin(), report->losses.end());
  }
  EXPECT_EQ(losses, expected->losses);
}

TEST(Trainer, ACheckpointOfManyDevicesResumesOnOneAndHasOneSetOfNames) {
  const TempDirectory dir;
  TrainerOptions four = options_for("4", 6);
  four.checkpoint_dir = dir.path();
  ASSERT_TRUE(train(sector_model(), four).ok());
  const auto latest = tf::latest_checkpoint(dir.path());
  ASSERT_TRUE(latest.ok());
  const auto reader = tf::CheckpointReader::open(latest->prefix);
  ASSERT_TRUE(reader.ok());
  std::vector<std::string> names;
  for (const auto& entry : reader->entries()) names.push_back(entry.name);
  const std::vector<std::string> expected = {
      "argosy/learning_rate",  "argosy/loader",     "beta1_power",         "beta2_power",       "dense/bias",
      "dense/bias/Adam",       "dense/bias/Adam_1", "dense/kernel",        "dense/kernel/Adam", "dense/kernel/Adam_1",
      "dense_1/bias",          "dense_1/bias/Adam", "dense_1/bias/Adam_1", "dense_1/kernel",    "dense_1/kernel/Adam",
      "dense_1/kernel/Adam_1", "global_step"};
  EXPECT_EQ(names, expected);

  TrainerOptions one = options_for("cpu:0", 12);
  one.checkpoint_dir = dir.path();
  one.resume = true;
  const auto resumed = train(sector_model(), one);
  ASSERT_TRUE(resumed.ok()) << resumed.status().to_string();
  const auto uninterrupted = train(sector_model(), options_for("cpu:0", 12));
  ASSERT_TRUE(uninterrupted.ok());
  ASSERT_EQ(resumed->losses.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(resumed->losses[i], uninterrupted->losses[6 + i], 1e-5);
}

TEST(Trainer, ACheckpointOfAnotherModelIsRefusedWithTheDifferences) {
  const TempDirectory dir;
  TrainerOptions small = options_for("cpu:0", 2);
  small.checkpoint_dir = dir.path();
  ASSERT_TRUE(train(sector_model(16), small).ok());
  small.resume = true;
  small.steps = 4;
  const auto other = train(sector_model(8), small);
  EXPECT_EQ(other.status().id(), "ARG-CKPT-011");
  EXPECT_NE(other.status().message().find("dense/kernel"), std::string::npos) << other.status().message();
}

TEST(Trainer, RefusesABatchThatDoesNotFitAndNamesOneThatDoes) {
  TrainerOptions options = options_for("1");
  options.devices.memory = "gpu:0=1MiB";
  options.batch = 20000;
  const auto refused = train(sector_model(64), options, 20000);
  ASSERT_EQ(refused.status().code(), Code::kResourceExhausted) << refused.status().to_string();
  const std::string next = refused.status().hint();
  ASSERT_TRUE(next.starts_with("--batch ")) << next;
  options.batch = std::stoll(next.substr(8));
  ASSERT_GT(options.batch, 10);
  options.steps = 1;
  const auto fits = train(sector_model(64), options, 20000);
  EXPECT_TRUE(fits.ok()) << fits.status().to_string();
}

TEST(Trainer, ALossThatIsNoNumberEndsTheRun) {
  const auto model = [](Layers& net) {
    Model m = sector_model()(net);
    m.loss = m.loss + log(m.loss - 1e6);
    return m;
  };
  TrainerOptions options = options_for("cpu:0");
  options.loss_placement = PlacementKind::kPartialMean;
  const auto report = train(model, options);
  EXPECT_EQ(report.status().id(), "ARG-TRAIN-001");
  EXPECT_EQ(report.status().where(), "step 1");
}

TEST(Trainer, ProgressMayEndTheRun) {
  const TempDirectory dir;
  TrainerOptions options = options_for("cpu:0", 50);
  options.checkpoint_dir = dir.path();
  options.progress = [](const TrainProgress& p) { return p.step < 4; };
  const auto report = train(sector_model(), options);
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->interrupted);
  EXPECT_EQ(report->steps, 4);
  EXPECT_TRUE(report->checkpoint.ends_with("-4")) << report->checkpoint;
}

TEST(Trainer, WritesEvents) {
  const TempDirectory dir;
  TrainerOptions options = options_for("cpu:0", 20);
  options.log_dir = dir.path();
  options.log_every = 5;
  ASSERT_TRUE(train(sector_model(), options).ok());
  int losses = 0, histograms = 0, graphs = 0;
  for (const auto& file : std::filesystem::directory_iterator(dir.path())) {
    auto reader = tf::EventReader::open(file.path());
    ASSERT_TRUE(reader.ok());
    for (;;) {
      auto event = reader->next();
      ASSERT_TRUE(event.ok());
      if (!*event) break;
      graphs += (*event)->graph_def.empty() ? 0 : 1;
      for (const auto& value : (*event)->values) {
        losses += value.tag == "loss" ? 1 : 0;
        histograms += value.tag == "dense/kernel" ? 1 : 0;
      }
    }
  }
  EXPECT_EQ(losses, 4);
  EXPECT_GE(histograms, 1);
  EXPECT_EQ(graphs, 1);
}

TEST(Trainer, DataThatDoesNotFitTheModelIsNamed) {
  const auto model = [](Layers& net) {
    const Value pixels = net.input("image", DType::kFloat32, {4});
    return Model{.loss = reduce_mean(net.dense(pixels, 1)), .metrics = {}};
  };
  const auto report = train(model, options_for("cpu:0"));
  EXPECT_EQ(report.status().id(), "ARG-DATA-020");
  EXPECT_NE(report.status().message().find("point, label"), std::string::npos) << report.status().message();
}

TEST(Ensemble, SideBySideAndOneAfterAnotherAgree) {
  EnsembleOptions options{.models = {sector_model(8), sector_model(16), sector_model(32)},
                          .optimizer = adam(0.02),
                          .batch = 10,
                          .steps = 30};
  options.devices.devices = "2";
  options.devices.emulate = "2";
  const Sectors data(64), test(50);
  const auto report = train_ensemble(options, data, &test);
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_TRUE(report->identical);
  ASSERT_EQ(report->members.size(), 3u);
  EXPECT_EQ(report->members[0].variables, report->members[2].variables);
  EXPECT_EQ(report->members[0].variables[0], "dense/kernel");
  EXPECT_EQ(report->members[1].device, "gpu:1");
  EXPECT_LT(report->members[0].losses.back(), report->members[0].losses.front());
}

}  // namespace
}  // namespace argosy
