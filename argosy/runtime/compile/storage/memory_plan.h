// Offsets in one arena for tensors that live over intervals of a device's order. Best fit along the order. At its birth
// a tensor takes the smallest hole that holds it. At its death its place becomes a hole again, joined with its
// neighbours. O(n log n). A steady run then allocates nothing.
//
// A tensor that stays long parts the holes around it: the sums of gradients of earlier turns lie where later turns want
// their activations. Where that costs memory, tensors that stay long get a part of the arena to themselves. How long is
// long is tried out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace argosy {

struct Lifetime {
  std::int32_t birth = 0;  // position at which it is written
  std::int32_t death = 0;  // last position at which it is read; its memory is free after it
  std::size_t bytes = 0;
  std::int64_t offset = -1;  // the answer
};

struct ArenaPlan {
  std::size_t bytes = 0;             // size of the arena
  std::size_t live_bytes = 0;        // the most that is alive at once: no plan can do with less
  std::vector<std::size_t> at_peak;  // which lifetimes are alive then
};

// Fills in the offsets (64-byte aligned). REQUIRES: sorted by birth.
ArenaPlan plan_arena(std::vector<Lifetime>& lifetimes);

}  // namespace argosy
