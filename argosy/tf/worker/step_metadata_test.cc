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
  for (const std::int64_t size : {std::int64_t{6}, kLeast}) {  // the second is no size
    auto& output = *node.add_output();
    output.set_slot(1);
    output.mutable_tensor_description()->set_dtype(tensorflow::DT_FLOAT);
    output.mutable_tensor_description()->mutable_shape()->add_dim()->set_size(size);
    auto& memory = *output.mutable_tensor_description()->mutable_allocation_description();
    memory.set_requested_bytes(24);
    memory.set_allocated_bytes(64);
    memory.set_allocator_name("GPU_0_bfc");
  }
  node.add_memory()->set_allocator_name("GPU_0_bfc");
  node.mutable_memory(0)->set_total_bytes(64);
  StepStats stats;
  stats.keep_ops = true;
  read_step_stats(told, stats);
  ASSERT_EQ(stats.ops.size(), 1u);
  EXPECT_EQ(stats.ops[0].op, "AddV2");
  EXPECT_EQ(stats.ops[0].end_nanos - stats.ops[0].start_nanos, 25'000);
  ASSERT_EQ(stats.ops[0].outputs.size(), 1u);
  EXPECT_EQ(stats.ops[0].outputs[0].shape, (Shape{6}));
  tensorflow::RunMetadata metadata;
  add_step_stats(stats, Graph(), metadata);
  const auto& again = metadata.step_stats().dev_stats(0).node_stats(0);
  ASSERT_EQ(again.output_size(), 1);
  EXPECT_EQ(again.output(0).SerializeAsString(), node.output(0).SerializeAsString());
  ASSERT_EQ(again.memory_size(), 1);
  EXPECT_EQ(again.memory(0).total_bytes(), 64);
}

}  // namespace
}  // namespace argosy::tf
