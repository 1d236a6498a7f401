// The processes that this one has started, and those that they have started.
#pragma once

namespace argosy::cli {

// From now on, what a child leaves behind becomes this process's child instead of the system's: still to be found.
void adopt_orphans();

// SIGKILL to all of them, until none is left but those that have ended. From any thread; not from a signal handler.
void kill_descendants();

}  // namespace argosy::cli
