// Datasets in the graph, as in tf.data: descriptions of sequences of elements, made from a source or from other
// datasets. Nothing runs until an iterator asks for an element (argosy/ops/iterator/iterator.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// A dataset, with the dtype and shape of each component of its elements.
struct InputPipeline {
  Value dataset;                     // a variant
  std::vector<DType> types;          // of the components
  std::vector<PartialShape> shapes;  // of the components
};

// --- sources ---

InputPipeline tensor_dataset(const std::vector<Value>& components);        // one element
InputPipeline tensor_slice_dataset(const std::vector<Value>& components);  // an element per row
// start, start + step, … below stop: int64 scalars.
InputPipeline range_dataset(Graph& graph, std::int64_t start, std::int64_t stop, std::int64_t step = 1);
// The lines of text files. `compression`: "", "ZLIB" or "GZIP".
InputPipeline text_line_dataset(Value filenames, const std::string& compression = "");
// The records of TFRecord files, as strings.
InputPipeline record_dataset(Value filenames, const std::string& compression = "");  // TFRecord

// --- transformations ---

// Computes an element from another.
using ElementFunction = std::function<std::vector<Value>(const std::vector<Value>& components)>;
// Computes a dataset from an element.
using DatasetFunction = std::function<InputPipeline(const std::vector<Value>& components)>;

// f of each element, in order. `parallel_calls`: how many run at once; 0: one after another; -1: as the cores allow.
InputPipeline map_dataset(const InputPipeline& input, const ElementFunction& f, std::int64_t parallel_calls = 0);
// The elements for which `keep` gives true.
InputPipeline filter_dataset(const InputPipeline& input, const std::function<Value(const std::vector<Value>&)>& wanted);
// The elements of all datasets that f makes, one dataset after the other.
InputPipeline flat_map_dataset(const InputPipeline& input, const DatasetFunction& f);
// The elements of the datasets that f makes. Takes `block` elements from each of `cycle` datasets in turn.
// `parallel_calls`: the number of datasets read at once.
InputPipeline interleave_dataset(const InputPipeline& input, const DatasetFunction& f, std::int64_t cycle,
                                 std::int64_t block, std::int64_t parallel_calls = 0);
// Batches of `size` elements, along a new first axis.
InputPipeline batch_dataset(const InputPipeline& input, std::int64_t size, bool drop_remainder = false);
// Elements drawn at random from a buffer of `buffer` elements. Both seeds 0: random seeds.
InputPipeline shuffle_dataset(const InputPipeline& input, std::int64_t buffer, std::int64_t seed = 0,
                              std::int64_t seed2 = 0, bool reshuffle_each_iteration = true);
InputPipeline repeat_dataset(const InputPipeline& input, std::int64_t count = -1);  // all elements again; -1: for ever
InputPipeline take_dataset(const InputPipeline& input, std::int64_t count);         // the first `count`
InputPipeline skip_dataset(const InputPipeline& input, std::int64_t count);         // without the first `count`
// Elements made ahead by a thread of its own, up to `buffer`; -1: a length that adapts.
InputPipeline prefetch_dataset(const InputPipeline& input, std::int64_t buffer = -1);
// Keeps the elements of the first complete pass: in memory, or in the file `filename`.
InputPipeline cache_dataset(const InputPipeline& input, const std::string& filename = "");
// All of the first, then all of the second.
InputPipeline concatenate_dataset(const InputPipeline& first, const InputPipeline& second);
// The elements of all inputs side by side, as components of one element; as long as the shortest input.
InputPipeline zip_dataset(const std::vector<InputPipeline>& inputs);

}  // namespace argosy
