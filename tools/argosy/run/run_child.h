// run_child(): runs a program as a child that acts in this process's place. The child inherits the terminal and files,
// and gets the signals that are sent to this process. The caller exits with the child's exit code.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "argosy/base/status.h"

namespace argosy::cli {

// The time that the child has to end after the first SIGINT or SIGTERM. Then it and all its descendants get SIGKILL. A
// second signal, half a second or more after the first, does that at once.
inline constexpr std::chrono::seconds kScriptGrace{10};

// Runs `words` (looked up in PATH) with that environment and waits for it. Its exit code; 128 + n when signal n ended
// it. SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 sent to this process meanwhile go to the child (a terminal
// sends Ctrl-C to both by itself). If this process is killed, the child is, too. NOT_FOUND: there is no such program.
// One at a time.
Result<int> run_child(const std::vector<std::string>& words, const std::vector<std::string>& environment);

}  // namespace argosy::cli
