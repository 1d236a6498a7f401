// The heap of a process with a session server: `argosy serve`, `argosy run`.
#pragma once

namespace argosy::cli {

// Keeps memory that a request gave back for the next one. Call it before other threads begin. What a burst leaves behind
// goes back to the system later: argosy/tf/server/transport/heap_upkeep.h.
void tune_server_heap();

}  // namespace argosy::cli
