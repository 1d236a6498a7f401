#include "argosy/base/memory/host_memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "argosy/base/system/cgroup.h"

namespace argosy {

std::int64_t memory_of_process() {
  static const std::int64_t bytes = [] {
    std::int64_t least = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
    const auto files =
        cgroup_files(read_small_file("/proc/self/cgroup"), "memory", "memory.max", "memory.limit_in_bytes");
    for (const std::string& path : files) {
      const std::int64_t limit = std::strtoll(read_small_file(path).c_str(), nullptr, 10);  // 0 of "max"
      if (limit > 0) least = std::min(least, limit);
    }
    return least;
  }();
  return bytes;
}

}  // namespace argosy
