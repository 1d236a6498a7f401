// Sums over a batch that have the same bits on one device and on two, four or eight.
//
// A batch is split by halving into kReductionChunks chunks (shard_batch.h). A device has one, two, four or all of them.
// An op that sums over the batch sums each chunk. It adds the chunks' sums as a binary tree over their indices, and the
// all-reduce over devices continues the same tree. The strategy that shards the batch marks these ops by attributes. A
// kernel that does not read the attributes, or for which chunks cost too much, sums in its own order. Results then
// differ in their last bits.
#pragma once

#include <array>
#include <cstdint>

#include "argosy/op/definition/attr.h"

namespace argosy {

inline constexpr int kReductionChunks = 8;  // a power of two

// On a node that sums over the batch: the number of chunks in the batch that it sees, a power of two.
inline constexpr const char* kReduceChunksAttr = "_reduce_chunks";
// The same on a node whose result has one row, or image, for each example.
inline constexpr const char* kRowChunksAttr = "_row_chunks";

// On such a node, if its device computes several shards in turns: the number of turns (argosy/ops/collective/turns.h).
inline constexpr const char* kReduceTurnsAttr = "_reduce_turns";

// Smaller batches are not split: adding up the sums of such small chunks would cost more than the sums themselves.
inline constexpr std::int64_t kMinChunkedExamples = 24;

struct ReductionChunks {
  int count = 0;  // 0: no chunks
  bool sum = false;
  int turns = 1;  // of the device; each has `count` chunks

  static ReductionChunks of(const AttrMap& attrs);
  // True if a sum over `examples`, all those that this device sees, must be added up chunk by chunk.
  bool sums(std::int64_t examples) const { return sum && global(examples) >= kMinChunkedExamples && count > 0; }
  bool rows() const { return !sum && count > 0; }
  // The chunks that the device sums in a step, over all turns. Kernels compare it with the number of threads to decide
  // if chunks pay; so the decision does not depend on turns.
  int of_device() const { return count * turns; }
  // Returns the size of the global batch, from the examples seen here. Exact if devices have equally many.
  std::int64_t global(std::int64_t examples) const {
    return count > 0 ? examples * kReductionChunks / count : examples;
  }
};

// Returns the ends of the chunks: chunk i of `examples` is [ends[i - 1], ends[i]), the first one from 0. REQUIRES:
// chunks in 0 … kReductionChunks.
using ChunkEnds = std::array<std::int64_t, kReductionChunks>;
ChunkEnds chunk_ends(std::int64_t examples, int chunks);

// Adds `chunks` sums of `elements` numbers each, one after the other in memory, as a binary tree. The result is in the
// first one. REQUIRES: `chunks` is a power of two.
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
