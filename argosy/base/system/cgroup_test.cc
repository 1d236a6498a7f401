#include "argosy/base/system/cgroup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace argosy {
namespace {

using ::testing::ElementsAre;

TEST(SmallFile, WhatCannotBeReadIsEmpty) {
  EXPECT_EQ(read_small_file("/proc/self/comm").back(), '\n');
  EXPECT_EQ(read_small_file("/proc/self"), "") << "opened, and not read";
  EXPECT_EQ(read_small_file("/no/such/file"), "");
}

TEST(Cgroup, OwnGroupAndAllAroundIt) {
  EXPECT_THAT(cgroup_files("0::/user.slice/job\n", "memory", "memory.max", "memory.limit_in_bytes"),
              ElementsAre("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes",
                          "/sys/fs/cgroup/user.slice/job/memory.max", "/sys/fs/cgroup/user.slice/memory.max"));
  EXPECT_THAT(cgroup_files("5:cpu,cpuacct:/batch\n4:memory:/other\n0::/\n", "cpu", "cpu.max", "cpu.cfs_quota_us"),
              ElementsAre("/sys/fs/cgroup/cpu.max", "/sys/fs/cgroup/cpu/cpu.cfs_quota_us",
                          "/sys/fs/cgroup/cpu/batch/cpu.cfs_quota_us"));
  EXPECT_THAT(cgroup_files("nonsense\n::\n", "cpu", "a", "b"), ElementsAre("/sys/fs/cgroup/a", "/sys/fs/cgroup/cpu/b"));
  EXPECT_EQ(read_small_file("/no/such/file"), "");
}

}  // namespace
}  // namespace argosy
