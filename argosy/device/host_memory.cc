#include <algorithm>
#include <cstdlib>
#include <limits>

#include "argosy/base/str.h"
#include "argosy/base/system/cgroup.h"
#include "argosy/device/pool.h"

namespace argosy {

namespace {

constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

// Returns the number at the begin of a text; kNone where there is none ("max", or no file).
std::uint64_t number_in(std::string_view text) {
  const std::string copy(str_trim(text));
  if (copy.empty() || copy[0] < '0' || copy[0] > '9') return kNone;
  return std::strtoull(copy.c_str(), nullptr, 10);
}

}  // namespace

std::uint64_t host_memory_bytes() {
  std::uint64_t bytes = kNone;
  constexpr std::string_view kTotal = "MemTotal:";
  const std::string machine = read_small_file("/proc/meminfo");
  if (const std::size_t at = machine.find(kTotal); at != std::string::npos) {
    const std::uint64_t kib = number_in(std::string_view(machine).substr(at + kTotal.size()));
    if (kib < kNone / 1024) bytes = kib * 1024;
  }
  for (const std::string& path :
       cgroup_files(read_small_file("/proc/self/cgroup"), "memory", "memory.max", "memory.limit_in_bytes")) {
    bytes = std::min(bytes, number_in(read_small_file(path)));
  }
  return bytes == kNone ? std::uint64_t{1} << 40 : std::max<std::uint64_t>(bytes, 1);
}

}  // namespace argosy
