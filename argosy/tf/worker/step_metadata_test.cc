// What another task says of its ops: times of any size are read and written again.
#include "argosy/tf/worker/step_metadata.h"

#include <gtest/gtest.h>

#include <limits>

#include "argosy/formats/proto/config.pb.h"

namespace argosy::tf {
namespace {

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(),
                       kMost = std::numeric_limits<std::int64_t>::max();

TEST(StepMetadata, TimesOfAnySize) {
  tensorflow::StepStats told;
  auto& device = *told.add_dev_stats();
  device.set_device("/job:ps/replica:0/task:0/device:CPU:0");
  for (const std::int64_t start : {kLeast, std::int64_t{-1}, std::int64_t{0}, kMost / 1000 + 1, kMost}) {
    for (const std::int64_t taken : {kLeast, std::int64_t{0}, std::int64_t{7}, kMost}) {
      auto& micros = *device.add_node_stats();
      micros.set_all_start_micros(start);
      micros.set_all_end_rel_micros(taken);
      auto& nanos = *device.add_node_stats();
      nanos.set_all_start_nanos(start);
      nanos.set_all_end_rel_nanos(taken);
    }
  }
  StepStats stats;
  stats.keep_ops = true;
  read_step_stats(told, stats);
  ASSERT_EQ(stats.ops.size(), static_cast<std::size_t>(device.node_stats_size()));
  for (const OpRecord& op : stats.ops) EXPECT_GE(op.end_nanos, op.start_nanos);
  tensorflow::RunMetadata metadata;
  add_step_stats(stats, Graph(), metadata);
  ASSERT_EQ(metadata.step_stats().dev_stats_size(), 1);
  for (const auto& node : metadata.step_stats().dev_stats(0).node_stats()) EXPECT_GE(node.all_end_rel_nanos(), 0);
}

TEST(StepMetadata, TimesComeBack) {
  tensorflow::StepStats told;
  auto& device = *told.add_dev_stats();
  device.set_device("/job:ps/replica:0/task:0/device:CPU:0");
  auto& node = *device.add_node_stats();
  node.set_node_name("a");
  node.set_timeline_label("a = AddV2(x, x)");
  node.set_all_start_micros(1'700'000'000'000'000);
  node.set_all_end_rel_micros(25);
  StepStats stats;
  stats.keep_ops = true;
  read_step_stats(told, stats);
  ASSERT_EQ(stats.ops.size(), 1u);
  EXPECT_EQ(stats.ops[0].op, "AddV2");
  EXPECT_EQ(stats.ops[0].end_nanos - stats.ops[0].start_nanos, 25'000);
}

}  // namespace
}  // namespace argosy::tf
