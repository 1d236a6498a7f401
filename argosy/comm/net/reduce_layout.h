// ReduceLayout: which contributions the tasks bring to a reduction. Internal to comm/net.
//
// A reduction over logical shards is a fixed binary tree over their indices. A task adds its own shards as far as that
// tree allows: it sends the sums of the largest subtrees that it holds whole.
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

// The largest subtrees of these shards, ascending. `shards` is ascending, each once.
std::vector<Subtree> subtrees_of(std::span<const int> shards);

struct ReduceLayout {
  std::vector<std::vector<Subtree>> tasks;  // by task, each ascending
  int total = 0;                            // shards

  // INVALID_ARGUMENT ARG-COMM-001: a shard that two tasks hold, or none.
  Status check() const;
  // Each task has one subtree, all of one size, in the order of the tasks, whose number is a power of two.
  bool is_aligned() const;
  // Some subtree has several shards.
  bool has_sums() const;
};

}  // namespace argosy
