// Sums over a batch that have the same bits on one device and on two, four or eight.
//
// A batch is thought of as kBatchParts parts, cut by halving (shard_batch.h); a device has one, two, four or all of
// them. An op that adds up over the batch does so part by part, and adds the parts' sums as a binary tree over their
// indices; the all-reduce over devices goes on with the same tree. Which ops add up over the batch is said by the
// strategy that shares the batch, by attributes; a kernel that does not know them, and one that would pay too much for
// it, adds up in an order of its own: results then differ in their last bit.
#pragma once

#include <array>
#include <cstdint>

#include "argosy/op/definition/attr.h"

namespace argosy {

inline constexpr int kBatchParts = 8;  // a power of two

// On a node: how many parts of the batch it sees, a power of two, and adds up over.
inline constexpr const char* kBatchSumAttr = "_batch_sum";
// The same where its result has a row, an image, for each example.
inline constexpr const char* kBatchRowsAttr = "_batch_rows";

// Smaller batches are not cut: the parts would be so small that adding up their sums cost more than what is summed.
inline constexpr std::int64_t kFewExamples = 24;

struct BatchParts {
  int count = 0;  // 0: nothing is asked
  bool sum = false;

  static BatchParts of(const AttrMap& attrs);
  // Are sums over so many examples, all that are seen here, to be added up part by part?
  bool sums(std::int64_t examples) const { return sum && whole(examples) >= kFewExamples && count > 0; }
  bool rows() const { return !sum && count > 0; }
  // Of the whole batch, from the examples seen here; exact where devices have equally many.
  std::int64_t whole(std::int64_t examples) const { return count > 0 ? examples * kBatchParts / count : examples; }
};

// Part i of `examples`, cut into `parts`, is [ends[i - 1], ends[i]), from 0. REQUIRES: parts in 0 … kBatchParts.
using BatchEnds = std::array<std::int64_t, kBatchParts>;
BatchEnds batch_ends(std::int64_t examples, int parts);

// The parts' sums, one list of `elements` after the other, added up as a tree into the first one. REQUIRES: a power of
// two of parts.
template <typename T>
void add_as_tree(T* sums, int parts, std::int64_t elements) {
  for (int step = 1; step < parts; step *= 2) {
    for (int p = 0; p < parts; p += 2 * step) {
      T* const left = sums + p * elements;
      const T* const right = left + step * elements;
      for (std::int64_t i = 0; i < elements; ++i) left[i] += right[i];
    }
  }
}

}  // namespace argosy
