// Sums over a batch that have the same bits on one device and on two, four or eight.
//
// A batch is split by halving into kReductionChunks chunks (shard_batch.h). A device has one, two, four or all of them.
// An op that sums over the batch sums each chunk. It adds the chunks' sums as a binary tree over their indices, and the
// all-reduce over devices continues the same tree. The strategy that shards the batch marks these ops by attributes.
// A kernel that does not know the attributes, or for which they cost too much, sums in its own order: results then differ
// in their last bit.
#pragma once

#include <array>
#include <cstdint>

#include "argosy/op/definition/attr.h"

namespace argosy {

inline constexpr int kReductionChunks = 8;  // a power of two

// On a node: how many chunks of the batch it sees, a power of two, and adds up over.
inline constexpr const char* kReduceChunksAttr = "_reduce_chunks";
// The same where its result has a row, an image, for each example.
inline constexpr const char* kRowChunksAttr = "_row_chunks";

// On a node that sums, where its device computes several shards in turns: how many (ops/collective/turns.h).
inline constexpr const char* kReduceTurnsAttr = "_reduce_turns";

// Smaller batches are not split: the chunks would be so small that adding up their sums cost more than what is summed.
inline constexpr std::int64_t kMinChunkedExamples = 24;

struct ReductionChunks {
  int count = 0;  // 0: nothing is asked
  bool sum = false;
  int turns = 1;  // of the device; each has `count` chunks

  static ReductionChunks of(const AttrMap& attrs);
  // Are sums over so many examples, all that are seen here, to be added up chunk by chunk?
  bool sums(std::int64_t examples) const { return sum && global(examples) >= kMinChunkedExamples && count > 0; }
  bool rows() const { return !sum && count > 0; }
  // Chunks that the device sums in a step. With its threads they tell what is worth while, turns or not.
  int of_device() const { return count * turns; }
  // Of the global batch, from the examples seen here; exact where devices have equally many.
  std::int64_t global(std::int64_t examples) const {
    return count > 0 ? examples * kReductionChunks / count : examples;
  }
};

// Chunk i of `examples`, split into `chunks`, is [ends[i - 1], ends[i]), from 0. REQUIRES: chunks in 0 … kReductionChunks.
using ChunkEnds = std::array<std::int64_t, kReductionChunks>;
ChunkEnds chunk_ends(std::int64_t examples, int chunks);

// The chunks' sums, one list of `elements` after the other, added up as a tree into the first one. REQUIRES: a power of
// two of chunks.
template <typename T>
void add_chunks_as_tree(T* sums, int chunks, std::int64_t elements) {
  for (int step = 1; step < chunks; step *= 2) {
    for (int p = 0; p < chunks; p += 2 * step) {
      T* const left = sums + p * elements;
      const T* const right = left + step * elements;
      for (std::int64_t i = 0; i < elements; ++i) left[i] += right[i];
    }
  }
}

}  // namespace argosy
