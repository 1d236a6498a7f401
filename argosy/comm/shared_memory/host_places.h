// HostPlaces: where the ranks of a collective in the host's memory are, and what that means for its speed.
#pragma once

#include <span>

#include "argosy/comm/collective_call.h"

namespace argosy {

struct HostPlaces {
  static HostPlaces of(std::span<const CollectiveCall> calls);

  // Every rank has a communication stream of its own, and sharing the work among them is faster than one thread, or its
  // links are to slow it down.
  bool worth_streams() const;

  int cores = 0;                     // of all devices
  double link_bytes_per_second = 0;  // of the slowest device; 0 = as fast as memory
  bool own_devices = false;          // every rank is on a device that no other rank is on
  std::size_t bytes = 0;             // of one rank's values or results, whichever are more
};

// How many times the bytes of a collective (CollectiveJob::bytes()) pass one rank's link in a ring of `ranks`.
double link_crossings(Collective kind, int ranks);

}  // namespace argosy
