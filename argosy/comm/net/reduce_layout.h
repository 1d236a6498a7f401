// ReduceLayout: the contributions of each task to a reduction. Internal to argosy/comm/net.
//
// A reduction over logical shards is a fixed binary tree over their indices. A task adds its own shards as far as that
// tree allows. It sends the sums of the largest subtrees of which it holds all shards.
//
//   shards   0   1   2   3   4   5         tasks of three devices each: 0-2 and 3-5
//            \  /    \  /    \  /
//             01      2|3     45           task 0 sends 01 and 2, task 1 sends 3 and 45
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "argosy/base/status.h"

namespace argosy {

// The shards [first, first + 2^level).
struct Subtree {
  std::int32_t first = 0, level = 0;
  int shards() const { return 1 << level; }
  bool operator==(const Subtree&) const = default;
};

// Returns the largest subtrees that consist of these shards, ascending. REQUIRES: `shards` is strictly ascending.
std::vector<Subtree> subtrees_of(std::span<const int> shards);

struct ReduceLayout {
  std::vector<std::vector<Subtree>> tasks;  // by task, each ascending
  int total = 0;                            // shards

  // INVALID_ARGUMENT ARG-COMM-001: two tasks hold the same shard, no task holds one, or one is not below total.
  Status check() const;
  // True if each task has one subtree, all subtrees have one size and follow the order of the tasks, and the number of
  // tasks is a power of two.
  bool is_aligned() const;
  // True if some subtree has more than one shard.
  bool has_sums() const;
};

}  // namespace argosy
