// A child process in our place: it has our terminal and files, gets the signals that are sent to us, and its end is
// ours.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "argosy/base/status.h"

namespace argosy::cli {

// After the first SIGINT or SIGTERM the child has so long to end; then it and all that it started get SIGKILL. A second
// one, half a second or more after the first, does that at once.
inline constexpr std::chrono::seconds kScriptGrace{10};

// Runs `words` (looked up in PATH) with that environment and waits for it. Its exit code; 128 + n when signal n ended
// it. SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 sent to this process meanwhile go to the child (a terminal
// sends Ctrl-C to both by itself). If this process is killed, the child is, too. NOT_FOUND: there is no such program. One
// at a time.
Result<int> run_child(const std::vector<std::string>& words, const std::vector<std::string>& environment);

}  // namespace argosy::cli
