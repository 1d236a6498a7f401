// Plans offsets in one arena for tensors that live over intervals of a device's order. It is a best fit along the
// order. At its birth a tensor takes the smallest hole that holds it. After its death its place becomes a hole again,
// merged with its neighbours. O(n log n). A run then allocates nothing for these tensors.
//
// A long-lived tensor splits the holes around it: the sums of gradients of earlier turns lie where later turns want
// their activations. Where that wastes memory, long-lived tensors get a part of the arena to themselves. Several
// thresholds for "long" are tried, and the smallest arena is taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace argosy {

struct Lifetime {
  std::int32_t birth = 0;  // position at which it is written
  std::int32_t death = 0;  // last position at which it is read; its memory is free after it
  std::size_t bytes = 0;
  std::int64_t offset = -1;  // filled in by plan_arena()
};

struct ArenaPlan {
  std::size_t bytes = 0;             // size of the arena
  std::size_t live_bytes = 0;        // the most that is alive at once: a lower bound of `bytes`
  std::vector<std::size_t> at_peak;  // indices of the lifetimes that are alive then
};

// Fills in the offsets (multiples of 64 bytes). REQUIRES: `lifetimes` are sorted by birth.
ArenaPlan plan_arena(std::vector<Lifetime>& lifetimes);

}  // namespace argosy
