// AutoShard: the shard of a pipeline that a worker gets by AutoShardDataset. It shards where TensorFlow's rewrite of
// the pipeline does.
//
//   by data   each worker computes all elements, and keeps every count-th
//   by file   each worker reads its own files: the list of files is sharded, then shuffled
//   by hint   where the pipeline says shard(SHARD_HINT, …)
//
// Internal to the family.
#pragma once

#include "argosy/ops/dataset/dataset_value.h"

namespace argosy::datasets {

// The shard of a pipeline, for its iterators (IteratorContext::shard).
struct AutoShard {
  // Whether a dataset is sharded: not at all, on its input, or on its own elements.
  enum class Where { kElsewhere, kBefore, kAfter };

  std::int64_t count = 1, index = 0;
  bool hinted = false;                      // by hint
  std::vector<const DatasetValue*> before;  // by file: datasets whose input is sharded
  std::vector<const DatasetValue*> after;   // by file: datasets that are sharded

  Where at(const DatasetValue& dataset) const;
  // Returns this shard of a list of files. A list that is shuffled is sharded before its shuffle, so that all workers
  // shard the same order.
  DatasetPtr of_files(const DatasetPtr& list) const;
};

// True if the op makes a dataset that reads records of files.
bool is_reader(const OpDef& op);

}  // namespace argosy::datasets
