// The rings of TensorFlow's collectives: the order in which members pass pieces on, and the division of an array into
// pieces. A group may have members that run TensorFlow itself, so all orders and sizes are TensorFlow's.
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

// Returns a ring for each offset. The members of each task are rotated by the offset, and reversed if it is negative.
std::vector<Ring> make_rings(const KeyedGroup& group, const std::vector<int>& offsets);

// Returns the offsets for a node that gives none. `most` per device: -1 is one ring. TensorFlow adds rings until a
// piece has at most 4 MiB. INTERNAL where there are no bytes to cut.
Result<std::vector<int>> ring_offsets(const KeyedGroup& group, std::int64_t bytes, int most);

// The division of an array into equal pieces; the last ones may be shorter, or empty. aligned_pieces() makes pieces
// that begin at TensorFlow's alignment, for reductions.
struct Pieces {
  std::int64_t elements = 0;  // of the whole
  std::int64_t each = 0;      // of a piece
  std::int64_t begin(int i) const;
  std::int64_t count(int i) const;
};
Pieces aligned_pieces(std::int64_t elements, std::size_t element_bytes, int pieces);
Pieces equal_pieces(std::int64_t elements, int pieces);

}  // namespace argosy
