#include "argosy/tf/server/service/work_totals.h"

#include <gtest/gtest.h>

namespace argosy::tf {
namespace {

TEST(WorkCounter, TellsHowStepsEnded) {
  const auto device_set = DeviceSet::make({.emulate = "1"});
  ASSERT_TRUE(device_set.ok());
  WorkCounter work((*device_set)->specs());
  for (const Code end : {Code::kOk, Code::kOk, Code::kOutOfRange, Code::kCancelled, Code::kInvalidArgument,
                         Code::kInternal, Code::kDeadlineExceeded}) {
    work.step_begins();
    work.step_ends(end, StepStats(), **device_set);
  }
  const WorkTotals totals = work.totals(ReplicaTotals());
  EXPECT_EQ(totals.steps, 2);
  EXPECT_EQ(totals.data_ended_steps, 1);
  EXPECT_EQ(totals.cancelled_steps, 1);
  EXPECT_EQ(totals.failed_steps, 3);
}

}  // namespace
}  // namespace argosy::tf
