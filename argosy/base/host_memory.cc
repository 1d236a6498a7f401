#include "argosy/base/host_memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "argosy/base/cgroup.h"

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

Status check_host_memory(std::int64_t bytes, std::uint64_t cap, std::string_view what) {
  const std::uint64_t limit = cap != 0 ? cap : static_cast<std::uint64_t>(memory_of_process()) / 4;
  if (bytes >= 0 && static_cast<std::uint64_t>(bytes) <= limit) return ok_status();
  return resource_exhausted(what, " takes ", format_bytes(static_cast<std::uint64_t>(bytes)), " of host memory, ",
                            format_bytes(limit), " are allowed", cap != 0 ? "" : " (a quarter of what there is)")
      .with_id("ARG-MEM-004")
      .with_next("a higher --mem cpu:0=…");
}

}  // namespace argosy
