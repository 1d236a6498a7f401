// RunningInstruction: the instruction whose kernel has a device's thread now; -1: none. Every device writes its own at
// each instruction, so each has a cache line of its own.
#pragma once

#include <atomic>
#include <cstdint>

namespace argosy {

struct alignas(64) RunningInstruction {
  std::atomic<std::int32_t> instruction{-1};
};

}  // namespace argosy
