// The rings of TensorFlow's collectives: in which order members pass pieces on, and how an array is cut into pieces. A
// group may have members that are TensorFlow's own tasks, so every number here is its.
#pragma once

#include <cstdint>
#include <vector>

#include "argosy/base/status.h"
#include "argosy/comm/keyed/piece_exchange.h"

namespace argosy {

// One ring over all members; a group may have several, each of which carries a share of the array.
struct Ring {
  std::vector<int> member;  // by place in the ring
  int place = 0;            // this member's
};

// A ring for each offset: the members of each task are turned by it, and walked backwards where it is negative.
std::vector<Ring> make_rings(const KeyedGroup& group, const std::vector<int>& offsets);

// The offsets where a node names none. `most` per device: -1 is one ring. TensorFlow adds rings until a piece has at
// most 4 MiB. INTERNAL where there are no bytes to cut.
Result<std::vector<int>> ring_offsets(const KeyedGroup& group, std::int64_t bytes, int most);

// An array in equal pieces; the last ones may be shorter, or empty. Pieces of a sum begin where vectors do.
struct Pieces {
  std::int64_t elements = 0;  // of the whole
  std::int64_t each = 0;      // of a piece
  std::int64_t begin(int i) const;
  std::int64_t count(int i) const;
};
Pieces aligned_pieces(std::int64_t elements, std::size_t element_bytes, int pieces);
Pieces equal_pieces(std::int64_t elements, int pieces);

}  // namespace argosy
