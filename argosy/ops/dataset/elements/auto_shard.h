// Which part of a pipeline each worker gets: what AutoShardDataset says, as TensorFlow's rewrite of the pipeline does it.
//
//   by data   every worker makes all elements, and gives each count-th
//   by file   each worker reads files of its own: the list of files is sharded, and shuffled after that
//   by hint   where the pipeline says shard(SHARD_HINT, …)
//
// Internal to the family.
#pragma once

#include "argosy/ops/dataset/dataset_value.h"

namespace argosy::datasets {

// What iterators are told (IteratorContext::shard).
struct AutoShard {
  // Where the shard is, seen from a dataset.
  enum class Where { kElsewhere, kBefore, kAfter };

  std::int64_t count = 1, index = 0;
  bool hinted = false;                      // by hint
  std::vector<const DatasetValue*> before;  // by file: datasets whose input is sharded
  std::vector<const DatasetValue*> after;   // by file: datasets that are sharded

  Where at(const DatasetValue& dataset) const;
  // One shard of the list of files. Its shuffle comes after that, so that all workers shard one order.
  DatasetPtr of_files(const DatasetPtr& list) const;
};

// Does it make a dataset that reads records of files?
bool is_reader(const OpDef& op);

}  // namespace argosy::datasets
