// Which tasks of a group have a connection to each other.
#pragma once

#include <set>
#include <vector>

namespace argosy {

// Returns the peers of `rank`, ascending. In a group of at most `most_pairs` ranks: all others. In a larger group: the
// ranks r +- 2^k modulo `size`, and r xor 2^k. The relation is symmetric.
inline std::vector<int> peers_of(int rank, int size, int most_pairs) {
  std::set<int> peers;
  if (size <= most_pairs) {
    for (int r = 0; r < size; ++r) peers.insert(r);
  } else {
    for (int distance = 1; distance < size; distance *= 2) {
      peers.insert((rank + distance) % size);
      peers.insert((rank + size - distance) % size);
      if ((rank ^ distance) < size) peers.insert(rank ^ distance);
    }
  }
  peers.erase(rank);
  return {peers.begin(), peers.end()};
}

}  // namespace argosy
