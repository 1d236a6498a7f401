// How much of the host's memory one value from outside (a file's contents, say) may take: what is not of a device's
// allocator has no cap of its own.
#pragma once

#include <cstdint>
#include <string_view>

#include "argosy/base/status.h"

namespace argosy {

// Memory that this process may use: what the machine has, or less where a control group says so. Looked up once.
std::int64_t memory_of_process();

// RESOURCE_EXHAUSTED, before anything is allocated, where `bytes` are more than `cap` (--mem cpu:0=…; 0: a quarter of
// memory_of_process()). `what` begins the message: "the contents of /x/y".
Status check_host_memory(std::int64_t bytes, std::uint64_t cap, std::string_view what);

}  // namespace argosy
