// Between tasks of one host no socket carries what they exchange:
//
//   up to 8 KiB   a message in shared memory (host_mail.h)
//   more          a message with an address; the receiver reads the piece where it is (process_vm_readv)
//
// Sockets carry what goes to tasks of other hosts, and of other namespaces of processes or networks. They carry the
// large pieces, too, where the system forbids to read (kernel.yama.ptrace_scope above 0, a container's seccomp rules).
// With ARGOSY_HOST_READS=0 of one task they carry all that goes to it and comes from it.
#pragma once

#include <memory>

#include "argosy/comm/net/net_engine.h"

namespace argosy {

// False: ARGOSY_HOST_READS=0.
bool host_reads_wanted();
// Returns an engine over `engine`; `engine` itself where no pair of its tasks may read. Called by every task; one with
// `wanted` false reads nothing, and is not read. An error is one of the network.
Result<std::unique_ptr<NetEngine>> with_host_reads(std::unique_ptr<NetEngine> engine,
                                                   bool wanted = host_reads_wanted());

}  // namespace argosy
