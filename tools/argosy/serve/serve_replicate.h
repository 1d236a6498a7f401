// --replicate N|all, of `argosy serve` and `argosy run`.
#pragma once

#include <string>

#include "argosy/tf/server/transport/session_server.h"
#include "tools/argosy/cli/command.h"

namespace argosy::cli {

// Declares it. `text` must outlive the command.
void add_replicate_flag(Command& command, std::string& text);

// INVALID_ARGUMENT "ARG-USAGE": neither "all" nor a number from 2 on. "": steps are not replicated.
Status read_replicate(const std::string& text, tf::SessionServerOptions& server);

}  // namespace argosy::cli
