// Training over tasks: the bits of one process with as many devices; one cause where a task fails.
#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "argosy/comm/net/net_test_support.h"
#include "argosy/data/dataset.h"
#include "argosy/formats/checkpoint/checkpoint_directory.h"
#include "argosy/train/loop/trainer.h"
#include "argosy/train/models/models.h"
#include "argosy/train/tasks/test_job.h"

namespace argosy {
namespace {

using ::testing::HasSubstr;

#define NEEDS_GLOO() \
  if (!has_gloo()) GTEST_SKIP() << "no Gloo plug-in in this build"

struct Work {
  std::string model = "mlp";
  std::int64_t batch = 32, steps = 5, examples = 96;
  std::string strategy = "dp";
  bool reproducible = false;
  bool test = true;
  double dropout = 0;
  bool sync_batch_norm = false;
  std::int64_t check = 0;
};

ModelBuilder builder(const Work& work) {
  const models::ClassifierOptions shape{.image_size = 28, .channels = 1, .classes = 10, .dropout = work.dropout};
  if (work.model == "autoencoder") {
    return models::autoencoder({.image_size = 28, .channels = 1, .depth = 2, .width = 8, .dropout = work.dropout});
  }
  if (work.model == "lenet") return models::lenet(shape);
  if (work.model == "resnet") return models::resnet({.image_size = 16, .channels = 1, .classes = 10}, 20);
  return models::mlp(shape, 64, 64);
}

class Folder {
 public:
  Folder() {
    char path[] = "/tmp/argosy_tasks_XXXXXX";
    path_ = mkdtemp(path);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }
  // Of the newest checkpoint's data.
  std::string bytes() const {
    const auto latest = tf::latest_checkpoint(path_);
    EXPECT_TRUE(latest.ok()) << latest.status().to_string();
    if (!latest.ok()) return "";
    std::ifstream file(latest->prefix + ".data-00000-of-00001", std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    EXPECT_GT(text.str().size(), 1000U);
    return text.str();
  }

 private:
  std::string path_;
};

Result<TrainReport> train(const Work& work, int devices, const std::string& folder, JobTasks* tasks,
                          bool resume = false, std::function<bool(const TrainProgress&)> progress = {}) {
  TrainerOptions options{.optimizer = adam(0.001),
                         .reproducible = work.reproducible,
                         .sync_batch_norm = work.sync_batch_norm,
                         .batch = work.batch,
                         .steps = work.steps,
                         .seed = 3,
                         .checkpoint_dir = folder,
                         .resume = resume,
                         .check_replicas_every = 2,
                         .check_steps = work.check,
                         .verdict = false,
                         .tasks = tasks,
                         .progress = std::move(progress)};
  options.devices.devices = options.devices.emulate = str_cat(devices);
  ARGOSY_ASSIGN_OR_RETURN(options.strategy, StrategySpec::parse(work.strategy));
  const int size = work.model == "resnet" ? 16 : 28;
  ARGOSY_ASSIGN_OR_RETURN(
      const auto data, data::open_dataset("synthetic", {.image_size = size, .channels = 1, .examples = work.examples}));
  ARGOSY_ASSIGN_OR_RETURN(const auto trainer, Trainer::make(builder(work), options));
  return trainer->fit(*data, work.test ? data.get() : nullptr);
}

// What every task reports.
std::vector<TrainReport> train_over(const Work& work, int tasks, int devices, const std::string& folder,
                                    bool resume = false) {
  std::vector<TrainReport> reports(static_cast<std::size_t>(tasks));
  run_job(tasks, [&](JobTasks& job) {
    auto report = train(work, devices, folder, &job, resume);
    ASSERT_TRUE(report.ok()) << "task " << job.rank() << ": " << report.status().to_string();
    reports[static_cast<std::size_t>(job.rank())] = *std::move(report);
  });
  return reports;
}

void expect_one_process(const Work& work, const std::vector<std::pair<int, int>>& shapes) {
  Folder one;
  const int all = shapes[0].first * shapes[0].second;
  const auto expected = train(work, all, one.path(), nullptr);
  ASSERT_TRUE(expected.ok()) << expected.status().to_string();
  for (const auto& [tasks, devices] : shapes) {
    SCOPED_TRACE(str_cat(work.model, " ", work.strategy, " on ", tasks, " tasks of ", devices));
    Folder many;
    testing::internal::CaptureStderr();
    const auto reports = train_over(work, tasks, devices, many.path());
    EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::Not(HasSubstr("there is no gpu:")));
    EXPECT_EQ(one.bytes() == many.bytes(), true) << "other bits in the checkpoint";
    for (const TrainReport& report : reports) {
      EXPECT_EQ(report.losses, expected->losses);
      EXPECT_EQ(report.evaluation, expected->evaluation);
    }
  }
}

const std::vector<std::pair<int, int>> kFourDevices = {{2, 2}, {4, 1}};

TEST(TasksTraining, MlpHasTheBitsOfOneProcess) {
  NEEDS_GLOO();
  expect_one_process({.model = "mlp"}, kFourDevices);
}

TEST(TasksTraining, LenetHasTheBitsOfOneProcess) {
  NEEDS_GLOO();
  expect_one_process({.model = "lenet", .steps = 3}, kFourDevices);
}

TEST(TasksTraining, AutoencoderHasTheBitsOfOneProcess) {
  NEEDS_GLOO();
  expect_one_process({.model = "autoencoder", .steps = 3}, kFourDevices);
}

TEST(TasksTraining, DropoutDropsTheSameElements) {
  NEEDS_GLOO();
  expect_one_process({.model = "mlp", .dropout = 0.4}, kFourDevices);
}

TEST(TasksTraining, UnevenAndShortBatches) {
  NEEDS_GLOO();
  expect_one_process({.model = "mlp", .batch = 37, .examples = 100}, kFourDevices);
  expect_one_process({.model = "mlp", .batch = 3, .steps = 4, .examples = 7}, kFourDevices);
}

TEST(TasksTraining, ThreeTasksAndSixDevices) {
  NEEDS_GLOO();
  expect_one_process({.model = "mlp", .batch = 30}, {{3, 1}});
  expect_one_process({.model = "mlp", .batch = 30}, {{3, 2}, {2, 3}});
}

TEST(TasksTraining, ReproducibleRunsAndStrategies) {
  NEEDS_GLOO();
  expect_one_process({.model = "mlp", .reproducible = true}, kFourDevices);
  expect_one_process({.model = "mlp", .strategy = "dp,accumulate=2"}, {{2, 2}});
  expect_one_process({.model = "mlp", .strategy = "dp,zero=1"}, kFourDevices);
}

TEST(TasksTraining, ResumesOnAnotherNumberOfTasks) {
  NEEDS_GLOO();
  const Work whole{.model = "mlp", .steps = 6, .dropout = 0.2};
  Work half = whole;
  half.steps = 3;
  Folder one, many;
  const auto expected = train(whole, 4, one.path(), nullptr);
  ASSERT_TRUE(expected.ok()) << expected.status().to_string();
  train_over(half, 2, 2, many.path());
  const auto reports = train_over(whole, 4, 1, many.path(), true);
  EXPECT_EQ(reports[3].first_step, 3);
  EXPECT_EQ(one.bytes() == many.bytes(), true) << "other bits in the checkpoint";
}

// Every task stops after the same step, whoever asked for it.
TEST(TasksTraining, AnInterruptOfOneTaskStopsAllAfterOneStep) {
  NEEDS_GLOO();
  Folder folder;
  const Work work{.steps = 1000, .test = false};
  std::vector<std::int64_t> steps(2);
  run_job(2, [&](JobTasks& job) {
    const auto report = train(work, 1, folder.path(), &job, false,
                              [&](const TrainProgress& p) { return job.rank() == 0 || p.step < 4; });
    ASSERT_TRUE(report.ok()) << report.status().to_string();
    EXPECT_TRUE(report->interrupted);
    steps[static_cast<std::size_t>(job.rank())] = report->steps;
  });
  EXPECT_EQ(steps[0], steps[1]);
  EXPECT_EQ(steps[0], 5);
}

TEST(TasksTraining, AnErrorOfOneTaskIsEveryTasks) {
  NEEDS_GLOO();
  Folder folder;
  const Work work{.steps = 1000, .test = false};
  run_job(3, [&](JobTasks& job) {
    const auto report = train(work, 1, folder.path(), &job, false, [&](const TrainProgress& p) {
      // As if its data were broken: an error from a thread of its own, in the middle of the others' steps.
      if (job.rank() == 1 && p.step == 5) (void)job.fail(data_loss("task 1's disk is on fire").with_id("ARG-DATA-001"));
      return true;
    });
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.status().id(), "ARG-DATA-001") << report.status().to_string();
    EXPECT_THAT(report.status().message(), HasSubstr("on fire"));
  });
}

TEST(TasksTraining, OtherOptionsOnATaskAreRefusedByName) {
  NEEDS_GLOO();
  run_job(2, [&](JobTasks& job) {
    Work work;
    work.batch = job.rank() == 1 ? 64 : 32;
    const auto report = train(work, 1, "", &job);
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.status().id(), "ARG-CLUSTER-060") << report.status().to_string();
    EXPECT_THAT(report.status().message(), HasSubstr("task 0 has \"batch 32\", task 1 has \"batch 64\""));
  });
  run_job(2, [&](JobTasks& job) {
    const auto report = train({.model = job.rank() == 1 ? "lenet" : "mlp"}, 1, "", &job);
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.status().id(), "ARG-CLUSTER-060") << report.status().to_string();
    EXPECT_THAT(report.status().message(), HasSubstr("the training step"));
  });
}

// Batch statistics over all devices: their sums are made in another order than one process may choose.
TEST(TasksTraining, ResnetWithin1e6) {
  NEEDS_GLOO();
  const Work work{.model = "resnet", .batch = 16, .steps = 3, .examples = 32, .test = false};
  const auto expected = train(work, 4, "", nullptr);
  ASSERT_TRUE(expected.ok()) << expected.status().to_string();
  const auto reports = train_over(work, 2, 2, "");
  ASSERT_EQ(reports[1].losses.size(), expected->losses.size());
  for (std::size_t i = 0; i < expected->losses.size(); ++i) {
    EXPECT_NEAR(reports[1].losses[i], expected->losses[i], 1e-6 * std::abs(expected->losses[i])) << i;
  }
}

// Norms over the global batch in micro-batches: the statistics of all turns meet before any turn goes back.
TEST(TasksTraining, SynchronisedNormsInMicroBatches) {
  NEEDS_GLOO();
  for (const char* strategy : {"dp", "dp,accumulate=2", "dp,accumulate=3"}) {
    const Work work{
        .model = "resnet", .batch = 24, .steps = 3, .examples = 48, .strategy = strategy, .sync_batch_norm = true};
    const auto expected = train(work, 4, "", nullptr);
    ASSERT_TRUE(expected.ok()) << expected.status().to_string();
    for (const auto& [tasks, devices] : kFourDevices) {
      SCOPED_TRACE(str_cat(strategy, " on ", tasks, " tasks"));
      for (const TrainReport& report : train_over(work, tasks, devices, "")) {
        ASSERT_EQ(report.losses.size(), expected->losses.size());
        for (std::size_t i = 0; i < expected->losses.size(); ++i) {
          EXPECT_NEAR(report.losses[i], expected->losses[i], 2e-6 * std::abs(expected->losses[i])) << i;
        }
      }
    }
  }
}

TEST(TasksTraining, StepsAreComparedWithOneDevice) {
  NEEDS_GLOO();
  for (const char* strategy : {"dp", "dp,zero=1", "dp,accumulate=2"}) {
    const Work work{.strategy = strategy, .dropout = 0.2, .check = 2};
    for (const TrainReport& report : train_over(work, 2, 2, "")) {
      EXPECT_EQ(report.checked_steps, 2) << report.not_checked;
      EXPECT_EQ(report.losses.size(), 5U);
    }
  }
}

}  // namespace
}  // namespace argosy
