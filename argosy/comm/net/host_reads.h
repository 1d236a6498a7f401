// Between tasks of one host no socket carries what they exchange:
//
//   up to 8 KiB   a message in shared memory (host_mail.h)
//   more          a message with an address; the receiver reads the piece where it is (process_vm_readv)
//
// Sockets carry what goes to tasks of other hosts, and of other namespaces of processes or networks. They carry the
// large pieces, too, where the system forbids to read (kernel.yama.ptrace_scope above 0, a container's seccomp rules).
// With ARGOSY_HOST_READS=0 of one task they carry all that goes to it and comes from it.
//
// A task that gives up says so before it gives memory back. A reader asks after it has read, so it never takes what was
// written there later for the piece.
#pragma once

#include <functional>
#include <memory>

#include "argosy/comm/net/net_engine.h"

namespace argosy {

struct HostReadsOptions {
  bool wanted = true;  // false: sockets carry all that goes to this task and comes from it
  // For tests; null: wherever the system allows it.
  std::function<bool(int task)> opens = nullptr, reads = nullptr;
};

// `wanted`: not ARGOSY_HOST_READS=0.
HostReadsOptions host_reads_options();
// Returns an engine over `engine`; `engine` itself where no pair of its tasks shares memory. Called by every task. An
// error is one of the network.
Result<std::unique_ptr<NetEngine>> with_host_reads(std::unique_ptr<NetEngine> engine,
                                                   const HostReadsOptions& options = host_reads_options());

}  // namespace argosy
