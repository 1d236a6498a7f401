// A reproducible run of real convolutions and products, on devices that have more or fewer cores each: emulated GPUs
// share those of the machine.
#include <gtest/gtest.h>

#include "argosy/data/dataset.h"
#include "argosy/train/models/models.h"
#include "argosy/train/trainer.h"

namespace argosy {
namespace {

Result<std::vector<double>> losses_on(const ModelBuilder& model, const char* devices) {
  TrainerOptions options{.optimizer = adam(0.001),
                         .reproducible = true,
                         .batch = 32,
                         .steps = 6,
                         .seed = 3,
                         .log_every = 0,
                         .verdict = false};
  options.devices.devices = options.devices.emulate = devices;
  ARGOSY_ASSIGN_OR_RETURN(const auto trainer, Trainer::make(model, options));
  ARGOSY_ASSIGN_OR_RETURN(const auto data,
                          data::open_dataset("synthetic", {.image_size = 28, .channels = 1, .examples = 64}));
  ARGOSY_ASSIGN_OR_RETURN(const TrainReport report, trainer->fit(*data));
  return report.losses;
}

class SameBitsTraining : public testing::TestWithParam<const char*> {};

TEST_P(SameBitsTraining, OnOneTwoAndFourDevices) {
  const models::ClassifierOptions images{.image_size = 28, .channels = 1, .classes = 10};
  const ModelBuilder model = std::string(GetParam()) == "lenet" ? models::lenet(images) : models::mlp(images, 256, 256);
  const auto one = losses_on(model, "1");
  ASSERT_TRUE(one.ok()) << one.status().to_string();
  ASSERT_EQ(one->size(), 6u);
  for (const char* devices : {"2", "4"}) {
    const auto many = losses_on(model, devices);
    ASSERT_TRUE(many.ok()) << many.status().to_string();
    EXPECT_EQ(*many, *one) << devices;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, SameBitsTraining, testing::Values("lenet", "mlp"),
                         [](const auto& param) { return param.param; });

}  // namespace
}  // namespace argosy
