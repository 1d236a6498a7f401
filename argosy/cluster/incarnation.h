// Who this process is: a random number of its life, and the name of its host.
#pragma once

#include <cstdint>
#include <string>

namespace argosy {

// Drawn once, at the first call; never 0. A process that is started again has another one. Thread-safe.
std::uint64_t own_incarnation();
// The host's name, for people. ARGOSY_HOST_NAME stands for it (tests with many hosts on one machine). Thread-safe.
std::string host_name();

}  // namespace argosy
