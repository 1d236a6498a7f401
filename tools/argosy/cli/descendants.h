// Descendants of this process: the processes that it has started, and those that they have started.
#pragma once

namespace argosy::cli {

// Makes this process a subreaper: orphaned descendants become its children instead of init's, so they can still be
// found.
void adopt_orphans();

// Sends SIGKILL to all descendants until all have ended, in at most 20 rounds. May be called from any thread, but not
// from a signal handler.
void kill_descendants();

}  // namespace argosy::cli
