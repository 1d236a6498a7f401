// AutoShardDataset: finds where a pipeline reads its files, by the rules of TensorFlow's rewrite. Datasets are
// immutable, so they are not rewritten: their iterators are told what was found.
#include "argosy/ops/dataset/elements/auto_shard.h"

#include <algorithm>

#include "argosy/ops/dataset/unary_dataset.h"

namespace argosy::datasets {

namespace {

enum Policy : std::int64_t { kOff = -1, kAuto = 0, kFile = 1, kData = 2, kHint = 3 };

bool is_one_of(std::string_view op, std::initializer_list<std::string_view> ops) {
  if (op.size() > 2 && op[op.size() - 2] == 'V' && op.back() >= '2' && op.back() <= '9') op.remove_suffix(2);
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}
bool is_source(std::string_view op) {
  return is_one_of(
      op, {"GeneratorDataset", "RangeDataset", "SparseTensorSliceDataset", "TensorDataset", "TensorSliceDataset"});
}
bool opens_datasets(std::string_view op) {
  return is_one_of(op, {"ExperimentalParallelInterleaveDataset", "FlatMapDataset", "InterleaveDataset",
                        "LegacyParallelInterleaveDataset", "ParallelInterleaveDataset"});
}
// True for ops that may be between the files and the end of a pipeline.
bool passes_on(std::string_view op) {
  return is_one_of(op, {"AssertNextDataset",
                        "BatchDataset",
                        "CacheDataset",
                        "ExperimentalMapAndBatchDataset",
                        "ExperimentalParseExampleDataset",
                        "ExperimentalRebatchDataset",
                        "FilterDataset",
                        "FinalizeDataset",
                        "MapAndBatchDataset",
                        "MapDataset",
                        "MaxIntraOpParallelismDataset",
                        "ModelDataset",
                        "OptimizeDataset",
                        "OptionsDataset",
                        "PaddedBatchDataset",
                        "ParallelBatchDataset",
                        "ParallelMapDataset",
                        "ParseExampleDataset",
                        "PrefetchDataset",
                        "PrivateThreadPoolDataset",
                        "RebatchDataset",
                        "RepeatDataset",
                        "ShardDataset",
                        "ShuffleAndRepeatDataset",
                        "ShuffleDataset",
                        "SkipDataset",
                        "TakeDataset",
                        "WindowDataset"});
}

// What opens each of a list of datasets or files, where others open what comes of that; null where nothing does.
const DatasetValue* list_of_datasets(const DatasetValue& d) {
  const std::vector<DatasetPtr> inputs = d.inputs();
  if (inputs.size() != 1) return nullptr;
  if (opens_datasets(d.op()) && is_one_of(inputs[0]->op(), {"TensorSliceDataset", "TensorDataset"})) return &d;
  return passes_on(d.op()) ? list_of_datasets(*inputs[0]) : nullptr;
}

// Finds the files of a pipeline, and notes in `shard` where to shard them. NOT_FOUND if there are none.
Status find_files(const DatasetValue& d, AutoShard& shard) {
  const std::vector<DatasetPtr> inputs = d.inputs();
  if (is_source(d.op())) return not_found("Found an unshardable source dataset: ", d.op());
  if (is_one_of(d.op(), {"ConcatenateDataset", "ZipDataset"})) {
    for (const DatasetPtr& input : inputs) ARGOSY_RETURN_IF_ERROR(find_files(*input, shard));
    return ok_status();
  }
  if (is_one_of(d.op(), {"FixedLengthRecordDataset", "TextLineDataset", "TFRecordDataset"})) {
    return not_found("Unable to shard this input. You may need to wrap the inputs to your reader dataset in a ",
                     "TensorSliceDataset.");
  }
  const bool opens = opens_datasets(d.op());
  if (inputs.size() != 1 || (!opens && !passes_on(d.op()) && d.op() != "AssertCardinalityDataset")) {
    return not_found("Did not find a shardable source, walked to a node which is not a dataset: ", d.op(),
                     ". Consider either turning off auto-sharding or switching the auto_shard_policy to DATA to shard ",
                     "this dataset.");
  }
  if (const DatasetValue* const list = opens ? list_of_datasets(*inputs[0]) : nullptr; list != nullptr) {
    shard.after.push_back(list);
    return ok_status();
  }
  if (!opens || !d.opens_readers()) return find_files(*inputs[0], shard);
  shard.before.push_back(&d);
  return ok_status();
}

// Returns the deepest shuffle of a list of files, or null.
const DatasetValue* shuffle_below(const DatasetValue& d) {
  const DatasetValue* found = d.op().starts_with("ShuffleDataset") ? &d : nullptr;
  for (const DatasetPtr& input : d.inputs()) {
    if (const DatasetValue* const deeper = shuffle_below(*input); deeper != nullptr) found = deeper;
  }
  return found;
}

class WithoutShuffles final : public UnaryDataset {
 public:
  explicit WithoutShuffles(const DatasetPtr& input)
      : UnaryDataset(input->op(), input->types(), input->shapes(), input) {}
  Result<IteratorPtr> iterate(const IteratorContext& context) const override {
    IteratorContext inner = context;
    inner.without_shuffles = true;
    return input().iterate(inner);
  }
};

class Sharded final : public UnaryDataset {
 public:
  Sharded(const DatasetArgs& a, DatasetPtr input, AutoShard shard)
      : UnaryDataset(a, std::move(input)), shard_(std::make_shared<const AutoShard>(std::move(shard))) {}
  Result<IteratorPtr> iterate(const IteratorContext& context) const override {
    IteratorContext inner = context;
    inner.shard = shard_;
    return input().iterate(inner);
  }

 private:
  const std::shared_ptr<const AutoShard> shard_;
};

Result<DatasetPtr> shard_by_data(const DatasetArgs& a, const DatasetPtr& input, const AutoShard& shard) {
  const DatasetValue* last = input.get();
  std::vector<DatasetPtr> below = last->inputs();
  while (is_one_of(last->op(), {"PrefetchDataset", "OptionsDataset", "FinalizeDataset"}) && below.size() == 1) {
    last = below[0].get();
    below = last->inputs();
  }
  if (last->op() != "RebatchDatasetV2") return shard_dataset(input, shard.count, shard.index);
  // Workers share each batch, not batches of their own sizes.
  const std::int64_t replicas = a.attrs().get_or<std::int64_t>("num_replicas", 0);
  if (replicas < 1) {
    return invalid_argument("Cannot rewrite RebatchDatasetV2 to legacy RebatchDataset with invalid num_replicas ",
                            "argument. `num_replicas` is ", replicas, ", but expected to be >= 1.");
  }
  return shard_dataset(split_batches(*last, replicas), shard.count, shard.index);
}

Result<DatasetPtr> make_auto_shard(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(DatasetPtr input, a.dataset());
  AutoShard shard;
  ARGOSY_ASSIGN_OR_RETURN(shard.count, a.integer("num_workers"));
  if (shard.count <= 0) return invalid_argument("num_workers must be greater than zero.");
  ARGOSY_ASSIGN_OR_RETURN(shard.index, a.integer("index"));
  if (shard.index < 0 || shard.index >= shard.count) {
    return invalid_argument("index must be between 0 and ", shard.count - 1);
  }
  const std::int64_t policy = a.attrs().get_int("auto_shard_policy");
  if (policy < kOff || policy > kHint) return invalid_argument("auto_shard_policy is invalid.");
  if (policy == kOff || (policy == kFile && shard.count == 1)) return input;
  if (policy == kHint) {
    shard.hinted = true;
  } else {
    const Status found = policy == kData ? not_found("") : find_files(*input, shard);
    if (policy != kFile && found.code() == Code::kNotFound) return shard_by_data(a, input, shard);
    ARGOSY_RETURN_IF_ERROR(found);
  }
  return DatasetPtr(std::make_shared<Sharded>(a, std::move(input), std::move(shard)));
}

}  // namespace

AutoShard::Where AutoShard::at(const DatasetValue& dataset) const {
  if (std::find(before.begin(), before.end(), &dataset) != before.end()) return Where::kBefore;
  return std::find(after.begin(), after.end(), &dataset) != after.end() ? Where::kAfter : Where::kElsewhere;
}

DatasetPtr AutoShard::of_files(const DatasetPtr& list) const {
  const DatasetValue* const shuffle = shuffle_below(*list);
  if (shuffle == nullptr) return shard_dataset(list, count, index);
  return shuffle_of(*shuffle, shard_dataset(std::make_shared<WithoutShuffles>(list), count, index));
}

bool is_reader(const OpDef& op) {
  return is_one_of(op.name, {"FixedLengthRecordDataset", "TextLineDataset", "TFRecordDataset"});
}

void add_auto_shards(KernelRegistry& kernels) {
  add_dataset<make_auto_shard>(kernels, {"AutoShardDataset", "ExperimentalAutoShardDataset"});
}

}  // namespace argosy::datasets
