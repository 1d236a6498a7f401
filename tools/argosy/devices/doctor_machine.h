// The facts of the machine that doctor checks, read from /proc and /sys without changing anything.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace argosy::cli {

struct DiskFacts {
  std::string path;
  std::uint64_t free_bytes = 0, total_bytes = 0;
};

struct MachineFacts {
  std::string cpu_model, kernel;
  int cores = 0;         // online
  int usable_cores = 0;  // those that affinity and cgroup quota allow
  std::uint64_t memory_bytes = 0, memory_free_bytes = 0;
  std::uint64_t memory_usable_bytes = 0;  // below memory_bytes where a cgroup says so
  std::vector<std::string> nvidia_gpus;   // models, as the driver tells them
  bool nvidia_driver = false;
  std::vector<DiskFacts> disks;       // here, and where temporary files go
  std::vector<std::string> settings;  // "NAME=value" of environment variables that affect Argosy
};

MachineFacts inspect_machine();

}  // namespace argosy::cli
