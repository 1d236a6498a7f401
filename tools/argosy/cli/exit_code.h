// The program's exit codes, for scripts and schedulers.
#pragma once

#include "argosy/base/status.h"

namespace argosy::cli {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;   // the computation failed; also: what was compared differs
inline constexpr int kUsage = 2;    // a flag, an argument or a configuration
inline constexpr int kMissing = 3;  // no such device, file, port, version; a full disk, or a folder that is in use
inline constexpr int kOutOfMemory = 4;
inline constexpr int kPeerLost = 5;      // a peer is gone, or a collective timed out after retries
inline constexpr int kCorrupt = 6;       // data or checkpoint does not match its checksum or format
inline constexpr int kInterrupted = 75;  // stopped after a checkpoint: please requeue (EX_TEMPFAIL)

// The error id of everything the user typed wrong.
inline constexpr const char* kUsageId = "ARG-USAGE";

// An error that names a node came out of a computation; the same code without one came from what the user gave.
int exit_code(const Status& status);

}  // namespace argosy::cli
