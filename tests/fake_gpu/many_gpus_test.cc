// Trainings on one fake GPU, several, and virtual ones: the results are the CPU's.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>

#include "argosy/data/dataset.h"
#include "argosy/train/loop/trainer.h"
#include "argosy/train/models/models.h"
#include "tests/fake_gpu/support/fake_driver_kernels.h"

namespace argosy {
namespace {

using ::testing::HasSubstr;

constexpr int kPixels = 8;

ModelBuilder model_of(const std::string& name) {
  const models::ClassifierOptions images{.image_size = kPixels, .channels = 1, .classes = 10};
  if (name == "mlp") return models::mlp(images, 24, 16);
  return models::autoencoder({.image_size = kPixels, .channels = 1, .depth = 2, .width = 4});
}

std::unique_ptr<data::Dataset> synthetic_images() {
  return data::open_dataset("synthetic", {.image_size = kPixels, .channels = 1, .examples = 64}).value();
}

struct Where {
  std::string name;
  int gpus = 1, physical_gpus = 1;  // more GPUs than physical ones: virtual ones
};

TrainerOptions options_for(int steps, bool reproducible) {
  return {.optimizer = adam(0.01),
          .reproducible = reproducible,
          .batch = 8,
          .steps = steps,
          .seed = 5,
          .log_every = 0,
          .verdict = false};
}

struct Trained {
  TrainReport report;
  std::vector<std::string> kernels;
};

Result<Trained> train(const std::string& model, const Where& where, int steps, bool reproducible = false) {
  TrainerOptions options = options_for(steps, reproducible);
  Trained trained;
  if (where.gpus == 0) {
    options.devices.devices = "cpu:0";
    ARGOSY_ASSIGN_OR_RETURN(const auto trainer, Trainer::make(model_of(model), options));
    ARGOSY_ASSIGN_OR_RETURN(trained.report, trainer->fit(*synthetic_images()));
    return trained;
  }
  // One GPU more than are used.
  cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(where.physical_gpus + 1), cuda::fake::with_kernels());
  std::vector<std::string> names;
  for (int g = 0; g < where.gpus; ++g) names.push_back(str_cat("gpu:", g));
  options.devices = machine.request(str_join(names, ","));
  if (where.gpus > where.physical_gpus) options.devices.virtual_gpus = str_cat("0:", where.gpus);
  bool untouched = true, within = true;
  constexpr std::uint64_t kCap = std::uint64_t{64} << 20;
  std::vector<std::string> caps;
  for (int c = 0; c < where.physical_gpus; ++c) caps.push_back(str_cat("gpu:", c, "=64MiB"));
  options.devices.memory = str_join(caps, ",");
  options.progress = [&](const TrainProgress&) {
    untouched = untouched && machine.driver().contexts(where.physical_gpus) == 0;
    const int share = where.gpus > where.physical_gpus ? where.gpus : 1;
    for (int c = 0; c < where.physical_gpus; ++c) {
      within = within && machine.driver().bytes_in_use(c) <= kCap * static_cast<std::uint64_t>(share);
    }
    return true;
  };
  {
    ARGOSY_ASSIGN_OR_RETURN(const auto trainer, Trainer::make(model_of(model), options));
    ARGOSY_ASSIGN_OR_RETURN(trained.report, trainer->fit(*synthetic_images()));
    trained.kernels = machine.driver().kernels();
  }
  EXPECT_TRUE(untouched) << "a GPU that nobody asked for was used";
  EXPECT_TRUE(within) << "more than the cap was taken";
  for (int c = 0; c < where.physical_gpus; ++c) EXPECT_EQ(machine.driver().bytes_reserved(c), 0U) << "GPU " << c;
  EXPECT_EQ(machine.driver().live_objects(), 0);
  return trained;
}

const Where kCpu{"cpu", 0};
const std::vector<Where> kWheres = {{"one GPU", 1, 1},
                                    {"two GPUs", 2, 2},
                                    {"four GPUs", 4, 4},
                                    {"two virtual GPUs", 2, 1},
                                    {"four virtual GPUs", 4, 1}};

class GpuTraining : public ::testing::TestWithParam<std::string> {};

TEST_P(GpuTraining, HasTheLossesOfTheCpu) {
  const bool slow = GetParam() == "autoencoder";  // its convolutions, thread by thread on the host: seconds a step
  const int steps = slow ? 2 : 6;
  const auto expected = train(GetParam(), kCpu, steps);
  ASSERT_TRUE(expected.ok()) << expected.status().to_string();
  for (const Where& where : kWheres) {
    if (slow && where.gpus != 2) continue;
    const auto got = train(GetParam(), where, steps);
    ASSERT_TRUE(got.ok()) << where.name << ": " << got.status().to_string();
    ASSERT_EQ(got->report.losses.size(), expected->report.losses.size());
    for (std::size_t i = 0; i < got->report.losses.size(); ++i) {
      const double loss = expected->report.losses[i];
      EXPECT_NEAR(got->report.losses[i], loss, 2e-4 * std::max(1.0, std::abs(loss))) << where.name << ", step " << i;
    }
    const auto sums = std::count(got->kernels.begin(), got->kernels.end(), "combine_f32");
    EXPECT_EQ(sums > 0, where.gpus > 1) << where.name << ": gradients are summed on the GPUs";
  }
}

INSTANTIATE_TEST_SUITE_P(Models, GpuTraining, ::testing::Values("mlp", "autoencoder"),
                         [](const auto& param) { return param.param; });

TEST(GpuTrainingReproducible, IsDeterministicOnOneTwoAndFourGpus) {
  std::vector<double> first;
  for (const Where& where : kWheres) {
    const auto got = train("mlp", where, 5, true);
    ASSERT_TRUE(got.ok()) << where.name << ": " << got.status().to_string();
    if (first.empty()) first = got->report.losses;
    ASSERT_EQ(first.size(), got->report.losses.size());
    EXPECT_EQ(std::memcmp(first.data(), got->report.losses.data(), first.size() * sizeof(double)), 0) << where.name;
  }
}

TEST(GpuTrainingReport, SaysWhoSums) {
  cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(2), cuda::fake::with_kernels());
  TrainerOptions options = options_for(2, false);
  options.devices = machine.request("gpu:0,gpu:1");
  options.log_device_placement = true;
  const auto trainer = Trainer::make(model_of("mlp"), options);
  ASSERT_TRUE(trainer.ok()) << trainer.status().to_string();
  const auto report = (*trainer)->fit(*synthetic_images());
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_THAT(report->placement, HasSubstr("collectives of gpu:0, gpu:1: "));
}

}  // namespace
}  // namespace argosy
