#include "argosy/comm/net/reduce_layout.h"

#include <algorithm>
#include <bit>

#include "argosy/base/str.h"

namespace argosy {

std::vector<Subtree> subtrees_of(std::span<const int> shards) {
  std::vector<Subtree> found;
  for (std::size_t i = 0; i < shards.size();) {
    std::size_t run = 1;
    while (i + run < shards.size() && shards[i + run] == shards[i] + static_cast<int>(run)) ++run;
    // As large as its place in the tree and the shards at hand allow.
    int level = 0;
    while (level < 30 && shards[i] % (2 << level) == 0 && (std::size_t{2} << level) <= run) ++level;
    found.push_back({shards[i], level});
    i += std::size_t{1} << level;
  }
  return found;
}

Status ReduceLayout::check() const {
  std::vector<int> holder(static_cast<std::size_t>(std::max(total, 0)), -1);
  for (std::size_t task = 0; task < tasks.size(); ++task) {
    for (const Subtree& tree : tasks[task]) {
      for (int shard = tree.first; shard < tree.first + tree.shards(); ++shard) {
        if (shard < 0 || shard >= total) {
          return invalid_argument("task ", task, " holds shard ", shard, " of ", total).with_id("ARG-COMM-001");
        }
        int& held = holder[static_cast<std::size_t>(shard)];
        if (held >= 0) {
          return invalid_argument("tasks ", held, " and ", task, " both hold shard ", shard).with_id("ARG-COMM-001");
        }
        held = static_cast<int>(task);
      }
    }
  }
  const auto missing = std::find(holder.begin(), holder.end(), -1);
  if (missing == holder.end()) return ok_status();
  return invalid_argument("no task holds shard ", missing - holder.begin(), " of ", total).with_id("ARG-COMM-001");
}

bool ReduceLayout::is_aligned() const {
  if (!std::has_single_bit(tasks.size()) || tasks[0].size() != 1) return false;
  const int level = tasks[0][0].level;
  for (std::size_t task = 0; task < tasks.size(); ++task) {
    const Subtree expected{static_cast<std::int32_t>(task << level), level};
    if (tasks[task].size() != 1 || tasks[task][0] != expected) return false;
  }
  return total == static_cast<int>(tasks.size() << level);
}

bool ReduceLayout::has_sums() const {
  return std::any_of(tasks.begin(), tasks.end(), [](const std::vector<Subtree>& trees) {
    return std::any_of(trees.begin(), trees.end(), [](const Subtree& tree) { return tree.level > 0; });
  });
}

}  // namespace argosy
