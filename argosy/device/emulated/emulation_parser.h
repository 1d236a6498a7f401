// Parses the texts that describe emulated GPUs: their number and properties (--emulate, ARGOSY_EMULATE) and their
// faults (ARGOSY_FAULTS).
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

// Parses "2" or "gpu:11GiB@1.0,gpu:11GiB@0.5;link=12GB/s" (size and speed optional). "" and "0": no GPUs.
// INVALID_ARGUMENT names the wrong part and a correct form.
Result<Emulation> parse_emulation(std::string_view text);

// The faults of one device. Counts start at 1; 0 = never.
struct DeviceFaults {
  std::int64_t fail_allocation = 0;  // alloc=N: the Nth allocation fails, once
  std::int64_t lost_at_kernel = 0;   // lost=N: at the Nth kernel the device is gone, for good
  std::int64_t hang_at_kernel = 0;   // hang=N: the Nth kernel never completes
  std::int64_t flip_at_kernel = 0;   // flip=N: one bit of the Nth kernel's result is wrong, without an error
  double copy_speed = 1.0;           // copy=F: copies run at this fraction of their speed
};

// "gpu:1:alloc=17,gpu:0:lost=100": faults by GPU number.
Result<std::map<int, DeviceFaults>> parse_faults(std::string_view text);

}  // namespace argosy
