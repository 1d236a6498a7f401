#include "argosy/comm/keyed/ring_order.h"

#include <algorithm>
#include <cstdlib>

namespace argosy {

namespace {

constexpr std::int64_t kMostPieceBytes = std::int64_t{4} << 20;
constexpr int kRingsOfDevice = 2;
constexpr std::int64_t kAlignment = 64;  // bytes

// How many members each task has, in the order of the tasks.
std::vector<int> members_of_tasks(const KeyedGroup& group) {
  std::vector<int> counts;
  for (int i = 0; i < group.size(); ++i) {
    if (i == 0 || group.task_of[i] != group.task_of[i - 1]) counts.push_back(0);
    ++counts.back();
  }
  return counts;
}

}  // namespace

std::vector<Ring> make_rings(const KeyedGroup& group, const std::vector<int>& offsets) {
  const std::vector<int> counts = members_of_tasks(group);
  std::vector<Ring> rings;
  for (const int offset : offsets) {
    Ring ring;
    int first = 0;
    for (const int count : counts) {
      for (int d = 0; d < count; ++d) {
        // An offset comes from a graph: its distance is taken without an overflow.
        const int turned = static_cast<int>((d + std::abs(static_cast<std::int64_t>(offset))) % count);
        const int member = first + (offset < 0 ? count - 1 - turned : turned);
        if (member == group.rank) ring.place = static_cast<int>(ring.member.size());
        ring.member.push_back(member);
      }
      first += count;
    }
    rings.push_back(std::move(ring));
  }
  return rings;
}

Result<std::vector<int>> ring_offsets(const KeyedGroup& group, std::int64_t bytes, int most) {
  if (most == -1) return std::vector<int>{0};
  if (bytes == 0) return internal_error("shape in CollectiveParams should be non-empty").with_id("ARG-CLUSTER-100");
  const int devices_of_task = group.size() / static_cast<int>(members_of_tasks(group).size());
  const std::int64_t limit = std::int64_t{most > 0 ? most : kRingsOfDevice} * devices_of_task;
  std::int64_t rings = 1;
  while (bytes / (group.size() * rings) > kMostPieceBytes && rings < limit) ++rings;
  const int stride = std::max(1, static_cast<int>(devices_of_task / rings));
  std::vector<int> offsets;
  for (int i = 0; i < rings; ++i) offsets.push_back(i % 2 == 1 ? -stride * i : stride * i);
  return offsets;
}

std::int64_t Pieces::begin(int i) const { return std::min(elements, each * i); }
std::int64_t Pieces::count(int i) const { return std::min(elements, begin(i) + each) - begin(i); }

Pieces aligned_pieces(std::int64_t elements, std::size_t element_bytes, int pieces) {
  const auto bytes = static_cast<std::int64_t>(element_bytes);
  std::int64_t each = elements / pieces + (elements % pieces != 0 ? 1 : 0);
  // A piece that ends at a boundary gets one vector more, as TensorFlow's do.
  if (bytes < kAlignment) each += (kAlignment - each * bytes % kAlignment) / bytes;
  return {.elements = elements, .each = each};
}

Pieces equal_pieces(std::int64_t elements, int pieces) { return {.elements = elements, .each = elements / pieces}; }

}  // namespace argosy
