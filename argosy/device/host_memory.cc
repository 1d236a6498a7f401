#include <algorithm>
#include <cstdio>
#include <fstream>
#include <limits>
#include <string>

#include "argosy/device/pool.h"

namespace argosy {

namespace {

constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

// A file that holds one number; kNone for "max" and where there is no such file.
std::uint64_t number_in(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? value : kNone;
}

// The smallest limit from this process's own group up to the root, in cgroup v2 (one hierarchy, "0::/path") or v1.
std::uint64_t cgroup_limit() {
  std::uint64_t limit =
      std::min(number_in("/sys/fs/cgroup/memory.max"), number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const bool v2 = line.rfind("0::", 0) == 0;
    if (!v2 && line.find(":memory:") == std::string::npos) continue;
    for (std::string path = line.substr(line.rfind(':') + 1); path.size() > 1; path.erase(path.rfind('/'))) {
      limit = std::min(limit, number_in(v2 ? "/sys/fs/cgroup" + path + "/memory.max"
                                           : "/sys/fs/cgroup/memory" + path + "/memory.limit_in_bytes"));
    }
  }
  return limit;
}

std::uint64_t machine_memory() {
  std::uint64_t kib = 0;
  if (std::FILE* f = std::fopen("/proc/meminfo", "r")) {
    unsigned long long value = 0;
    if (std::fscanf(f, "MemTotal: %llu kB", &value) == 1) kib = value;
    std::fclose(f);
  }
  return kib > 0 ? kib * 1024 : kNone;
}

}  // namespace

std::uint64_t host_memory_bytes() {
  const std::uint64_t bytes = std::min(machine_memory(), cgroup_limit());
  return bytes == kNone ? std::uint64_t{1} << 40 : bytes;
}

}  // namespace argosy
