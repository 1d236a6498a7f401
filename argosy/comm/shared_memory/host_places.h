// HostPlaces: the devices of the ranks of a collective in host memory, as far as they determine its speed.
#pragma once

#include <span>

#include "argosy/comm/collective_call.h"

namespace argosy {

struct HostPlaces {
  static HostPlaces of(std::span<const CollectiveCall> calls);

  // True if the ranks' communication streams should share the work. Each rank needs a device of its own. In addition,
  // the work must be large enough to be faster than on one thread, or the simulated links must pace it.
  bool worth_streams() const;

  int cores = 0;                     // of all devices
  double link_bytes_per_second = 0;  // of the slowest device; 0 = as fast as memory
  bool own_devices = false;          // every rank is on a device that no other rank is on
  std::size_t bytes = 0;             // of one rank's values or results, whichever are more
};

// Returns how many times the bytes of a collective (CollectiveJob::bytes()) cross one rank's link in a ring of `ranks`.
double link_crossings(Collective kind, int ranks);

}  // namespace argosy
