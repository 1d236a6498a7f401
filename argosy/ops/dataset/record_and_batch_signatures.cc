// Signatures of datasets that read records, and of those that form batches another way.
#include "argosy/ops/dataset/signatures.h"

namespace argosy::datasets {

const std::vector<Signature>& record_and_batch_signatures() {
  static const std::vector<Signature> kAll = {
      {"AssertPrevDataset", "The input: a check of an optimizer that is not ours.",
       "input_dataset: variant; transformations: string", "handle: variant", "$types; $shapes", false},
      {"CSVDataset", "The records of CSV files.",
       "filenames: string; compression_type: string; buffer_size: int64; header: bool; field_delim: string; "
       "use_quote_delim: bool; na_value: string; select_cols: int64; record_defaults: output_types",
       "handle: variant", "output_types: list({float, double, int32, int64, string}) >= 1; $shapes", true, true},
      {"ExperimentalCSVDataset", "The records of CSV files.",
       "filenames: string; compression_type: string; buffer_size: int64; header: bool; field_delim: string; "
       "use_quote_delim: bool; na_value: string; select_cols: int64; record_defaults: output_types",
       "handle: variant", "output_types: list({float, double, int32, int64, string}) >= 1; $shapes", true, true},
      {"CSVDatasetV2", "The records of CSV files, without some columns.",
       "filenames: string; compression_type: string; buffer_size: int64; header: bool; field_delim: string; "
       "use_quote_delim: bool; na_value: string; select_cols: int64; record_defaults: output_types; exclude_cols: "
       "int64",
       "handle: variant", "output_types: list({float, double, int32, int64, string}) >= 1; $shapes", true, true},
      {"ChooseFastestDataset", "The first input: all have the same elements.", "input_datasets: N * variant",
       "handle: variant", "N: int >= 2; num_experiments: int; $types; $shapes", false},
      {"ExperimentalChooseFastestDataset", "The first input: all have the same elements.",
       "input_datasets: N * variant", "handle: variant", "N: int >= 2; num_experiments: int; $types; $shapes", false},
      {"DenseToSparseBatchDataset", "Batches of tensors of unlike sizes, as sparse tensors.",
       "input_dataset: variant; batch_size: int64; row_shape: int64", "handle: variant", "$types; $shapes", false},
      {"ExperimentalDenseToSparseBatchDataset", "Batches of tensors of unlike sizes, as sparse tensors.",
       "input_dataset: variant; batch_size: int64; row_shape: int64", "handle: variant", "$types; $shapes", false},
      {"ListDataset", "Elements of these tensors, one after the other.", "tensors: Tinput_types", "handle: variant",
       "Tinput_types: list(type) >= 1; $types; $shapes; $metadata", true},
      {"MatchingFilesDataset", "The files whose names match a pattern.", "patterns: string", "handle: variant", "",
       true, true},
      {"ExperimentalMatchingFilesDataset", "The files whose names match a pattern.", "patterns: string",
       "handle: variant", "", true, true},
      {"ParseExampleDataset", "The features of the serialized Examples in each element.",
       "input_dataset: variant; num_parallel_calls: int64; dense_defaults: Tdense", "handle: variant",
       "sparse_keys: list(string) >= 0; dense_keys: list(string) >= 0; sparse_types: list({float, int64, string}) >= "
       "0; Tdense: list({float, int64, string}) >= 0; dense_shapes: list(shape) >= 0; $types; $shapes; sloppy: bool = "
       "false; ragged_keys: list(string) >= 0 = []; ragged_value_types: list({float, int64, string}) >= 0 = []; "
       "ragged_split_types: list(index) >= 0 = []",
       false},
      {"ParseExampleDatasetV2", "The features of the serialized Examples in each element.",
       "input_dataset: variant; num_parallel_calls: int64; dense_defaults: Tdense", "handle: variant",
       "sparse_keys: list(string) >= 0; dense_keys: list(string) >= 0; sparse_types: list({float, int64, string}) >= "
       "0; Tdense: list({float, int64, string}) >= 0; dense_shapes: list(shape) >= 0; $types; $shapes; deterministic: "
       "string = 'default'; ragged_keys: list(string) >= 0 = []; ragged_value_types: list({float, int64, string}) >= 0 "
       "= []; ragged_split_types: list(index) >= 0 = []",
       false},
      {"ExperimentalParseExampleDataset", "The features of the serialized Examples in each element.",
       "input_dataset: variant; num_parallel_calls: int64; dense_defaults: Tdense", "handle: variant",
       "sparse_keys: list(string) >= 0; dense_keys: list(string) >= 0; sparse_types: list({float, int64, string}) >= "
       "0; Tdense: list({float, int64, string}) >= 0; dense_shapes: list(shape) >= 0; $types; $shapes; sloppy: bool = "
       "false",
       false},
      {"RebatchDatasetV2", "The rows of batches, in batches of these sizes in turn.",
       "input_dataset: variant; batch_sizes: int64; drop_remainder: bool", "handle: variant", "$types; $shapes", false},
      {"RebatchDataset", "Every batch in so many parts: one for each replica.",
       "input_dataset: variant; num_replicas: int64", "handle: variant", "$types; $shapes; use_fallback: bool = true",
       false},
      {"ExperimentalRebatchDataset", "Every batch in so many parts: one for each replica.",
       "input_dataset: variant; num_replicas: int64", "handle: variant", "$types; $shapes; use_fallback: bool = true",
       false},
      {"ComputeBatchSize", "Of how many rows the dataset's elements are; -1 where that is not to be seen.",
       "input_dataset: variant", "batch_size: int64", "", false},
      {"DatasetToGraph", "A GraphDef of its ops, by which DatasetFromGraph finds it within the step.",
       "input_dataset: variant", "graph: string",
       "stateful_whitelist: list(string) >= 0 = []; allow_stateful: bool = false; strip_device_assignment: bool = "
       "false",
       false},
      {"DatasetToGraphV2", "A GraphDef of its ops, by which DatasetFromGraph finds it within the step.",
       "input_dataset: variant", "graph: string",
       "external_state_policy: int = 0; strip_device_assignment: bool = false", false},
      {"DatasetFromGraph", "The dataset that was made a text.", "graph_def: string", "handle: variant", "", false},
      {"ThreadPoolDataset", "The input: its threads are not ours.", "input_dataset: variant; thread_pool: resource",
       "handle: variant", "$types; $shapes", true},
      {"ThreadPoolHandle", "A pool of threads for datasets.", "", "handle: resource",
       "num_threads: int; max_intra_op_parallelism: int = 1; display_name: string; container: string = ''; "
       "shared_name: string = ''",
       true},
      {"ExperimentalThreadPoolDataset", "The input: its threads are not ours.",
       "input_dataset: variant; thread_pool: resource", "handle: variant", "$types; $shapes", true},
      {"ExperimentalThreadPoolHandle", "A pool of threads for datasets.", "", "handle: resource",
       "num_threads: int; max_intra_op_parallelism: int = 1; display_name: string; container: string = ''; "
       "shared_name: string = ''",
       true},
      {"WrapDatasetVariant", "The dataset, to go to another device.", "input_handle: variant", "output_handle: variant",
       "", false},
      {"UnwrapDatasetVariant", "The dataset that WrapDatasetVariant was given.", "input_handle: variant",
       "output_handle: variant", "", false},
      {"SleepDataset", "The elements, each some time after it was asked for.",
       "input_dataset: variant; sleep_microseconds: int64", "handle: variant", "$types; $shapes", false},
      {"ExperimentalSleepDataset", "The elements, each some time after it was asked for.",
       "input_dataset: variant; sleep_microseconds: int64", "handle: variant", "$types; $shapes", false},
      {"SlidingWindowDataset", "Windows of elements, as batches.",
       "input_dataset: variant; window_size: int64; window_shift: int64; window_stride: int64", "handle: variant",
       "drop_remainder: bool = true; $types; $shapes", false},
      {"ExperimentalSlidingWindowDataset", "Windows of elements, as batches.",
       "input_dataset: variant; window_size: int64; window_shift: int64; window_stride: int64", "handle: variant",
       "$types; $shapes", false},
  };
  return kAll;
}

}  // namespace argosy::datasets
