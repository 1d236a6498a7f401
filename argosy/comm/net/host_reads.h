// Tasks of one host read large pieces out of each other's memory (process_vm_readv), which no socket carries.
//
//   exchange():  addresses ──► the pieces, read where they are ──► "read", and what sockets carry
//
// Pairs of tasks do so that may read each other. Not so: tasks of different hosts or namespaces of processes, and tasks
// where the system forbids it (kernel.yama.ptrace_scope above 0, a container's seccomp rules). Their bytes go through
// sockets, as do small pieces. ARGOSY_HOST_READS=0 of one task: none of its pairs does so.
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
