#include "argosy/cluster/incarnation.h"

#include <unistd.h>

#include <cstdlib>
#include <random>

namespace argosy {

std::uint64_t own_incarnation() {
  static const std::uint64_t drawn = [] {
    std::random_device device;
    const std::uint64_t number = (std::uint64_t{device()} << 32) | device();
    return number != 0 ? number : 1;
  }();
  return drawn;
}

std::string host_name() {
  if (const char* given = std::getenv("ARGOSY_HOST_NAME"); given != nullptr && *given != 0) return given;
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0 || name[0] == 0) return "localhost";
  return name;
}

}  // namespace argosy
