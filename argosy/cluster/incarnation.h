// The identity of this process: its incarnation and its host's name.
#pragma once

#include <cstdint>
#include <string>

namespace argosy {

// A random number, drawn at the first call; never 0. A restarted process has another one. Thread-safe.
std::uint64_t own_incarnation();
// The host's name, for people. ARGOSY_HOST_NAME overrides it (for tests with many hosts on one machine). Thread-safe.
std::string host_name();

}  // namespace argosy
