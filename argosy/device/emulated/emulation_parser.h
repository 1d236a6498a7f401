// The text forms that describe emulated GPUs: how many and how good (--emulate, ARGOSY_EMULATE), and what goes wrong
// (ARGOSY_FAULTS).
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "argosy/base/status.h"

namespace argosy {

struct EmulatedGpu {
  std::uint64_t memory_bytes = 0;  // 0 = a fair share of the host's
  double speed = 1.0;              // 0 < speed <= 1
};

struct Emulation {
  std::vector<EmulatedGpu> gpus;
  double link_bytes_per_second = 0;  // 0 = as fast as memory
};

// "2"; "gpu:11GiB@1.0,gpu:11GiB@0.5;link=12GB/s" with size and speed optional; "" and "0" are none.
// INVALID_ARGUMENT says which part and what would do.
Result<Emulation> parse_emulation(std::string_view text);

// What goes wrong on one device. Numbers count from 1; 0 = never.
struct DeviceFaults {
  std::int64_t fail_allocation = 0;  // alloc=N: the Nth allocation fails, once
  std::int64_t lost_at_kernel = 0;   // lost=N: at the Nth kernel the device is gone, for good
  std::int64_t hang_at_kernel = 0;   // hang=N: the Nth kernel never completes
  std::int64_t flip_at_kernel = 0;   // flip=N: one bit of what the Nth kernel computed is wrong, and nobody says so
  double copy_speed = 1.0;           // copy=F: copies run at this fraction of their speed
};

// "gpu:1:alloc=17,gpu:0:lost=100": faults by GPU number.
Result<std::map<int, DeviceFaults>> parse_faults(std::string_view text);

}  // namespace argosy
