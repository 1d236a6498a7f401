#include "argosy/train/loop/sdc_check.h"

#include <gmock/gmock.h>

#include "argosy/data/dataset.h"
#include "argosy/train/loop/trainer.h"
#include "argosy/train/models/models.h"

namespace argosy {
namespace {

using ::testing::HasSubstr;

constexpr int kPixels = 8;

Result<TrainReport> train(const std::string& gpus, const std::string& faults, std::int64_t check_every = 2,
                          int steps = 4) {
  TrainerOptions options{.optimizer = adam(0.01), .batch = 12, .steps = steps, .seed = 5};
  options.verdict = false;
  options.check_replicas_every = check_every;
  options.devices.emulate = gpus;
  options.devices.faults = faults;
  const auto data = data::open_dataset("synthetic", {.image_size = kPixels, .channels = 1, .examples = 64}).value();
  ARGOSY_ASSIGN_OR_RETURN(
      const auto trainer,
      Trainer::make(models::mlp({.image_size = kPixels, .channels = 1, .classes = 10}, 24, 16), options));
  return trainer->fit(*data);
}

TEST(SdcCheck, MirrorsOfSoundDevicesAreEqual) {
  const auto report = train("3", "");
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_EQ(report->losses.size(), 4U);
}

// Wherever in the first steps the bit flips: the run ends with an error that names the device, or the wrong number was
// summed into every mirror, or reached none.
TEST(SdcCheck, ThreeDevicesOutvoteTheOneWhoseBitFlipped) {
  int told = 0;
  for (int n = 1; n <= 60; ++n) {
    const auto report = train("3", str_cat("gpu:1:flip=", n));
    if (report.ok()) continue;
    ++told;
    EXPECT_EQ(report.status().code(), Code::kDataLoss);
    EXPECT_EQ(report.status().id(), "ARG-TRAIN-003");
    EXPECT_THAT(report.status().message(), HasSubstr("gpu:1 differs from the others"));
    EXPECT_THAT(report.status().hint(), HasSubstr("--resume"));
  }
  EXPECT_GE(told, 3);
  EXPECT_TRUE(train("3", "").ok());  // the process is none the worse
}

TEST(SdcCheck, OfTwoDevicesBothAreNamed) {
  bool told = false;
  for (int n = 1; n <= 60 && !told; ++n) {
    const auto report = train("2", str_cat("gpu:0:flip=", n));
    if (report.ok()) continue;
    told = true;
    EXPECT_THAT(report.status().message(), HasSubstr("gpu:0, gpu:1 differ, and no majority"));
  }
  EXPECT_TRUE(told);
}

TEST(SdcCheck, IsMadeAtTheEndTooAndCanBeSwitchedOff) {
  int end = 0, off = 0;
  for (int n = 1; n <= 60; ++n) {
    const std::string faults = str_cat("gpu:1:flip=", n);
    end += train("2", faults, 1000).ok() ? 0 : 1;
    off += train("2", faults, 0).ok() ? 0 : 1;
  }
  EXPECT_GE(end, 1);
  EXPECT_EQ(off, 0);
}

TEST(ContentHash, TellsEveryBit) {
  Tensor t = Tensor::zeros(DType::kUint8, {77});
  const std::uint64_t zeros = content_hash(t);
  for (std::int64_t i = 0; i < t.elements(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      t.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(1 << bit);
      EXPECT_NE(content_hash(t), zeros) << i << " " << bit;
    }
    t.data<std::uint8_t>()[i] = 0;
  }
  EXPECT_NE(content_hash(Tensor::zeros(DType::kUint8, {76})), zeros);
}

}  // namespace
}  // namespace argosy
