#include "argosy/tf/server/planning/planned_step.h"

#include <gtest/gtest.h>

namespace argosy::tf {
namespace {

TEST(PlannedStep, SaysWhatItIsForWhereAStepIsAnother) {
  const PlannedStep planned{.file = "a.plan", .targets = {"train", "average"}, .batch = 64};
  EXPECT_EQ(difference(planned, {"loss", "average", "train"}, 64), "");
  EXPECT_EQ(difference(planned, {"train", "average"}, 0), "");  // the batch is not known
  EXPECT_EQ(difference(planned, {"train", "average"}, 32), "a batch of 64, this step has 32");
  EXPECT_EQ(difference(planned, {"train", "loss"}, 64), "a step that runs average, this one does not");
  EXPECT_EQ(difference(planned, {}, 64), "a step that runs train, this one does not");
}

}  // namespace
}  // namespace argosy::tf
