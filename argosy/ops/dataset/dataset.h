// Datasets in the graph, as TensorFlow's tf.data has them: recipes for sequences of elements, each made of a source or
// of other datasets. Nothing runs until an iterator asks (argosy/ops/iterator/iterator.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// A dataset, and what its elements are made of: a dtype and a shape per component.
struct InputPipeline {
  Value dataset;                     // a variant
  std::vector<DType> types;          // of the components
  std::vector<PartialShape> shapes;  // of the components
};

// --- sources ---

InputPipeline tensor_dataset(const std::vector<Value>& components);        // one element
InputPipeline tensor_slice_dataset(const std::vector<Value>& components);  // an element per row
// Start, start + step, … below stop; int64 scalars.
InputPipeline range_dataset(Graph& graph, std::int64_t start, std::int64_t stop, std::int64_t step = 1);
// "" or "ZLIB" or "GZIP".
InputPipeline text_line_dataset(Value filenames, const std::string& compression = "");
// The records of TFRecord files, as strings.
InputPipeline record_dataset(Value filenames, const std::string& compression = "");  // TFRecord

// --- transformations ---

// What makes one element of another.
using ElementFunction = std::function<std::vector<Value>(const std::vector<Value>& components)>;
// What makes a dataset of an element.
using DatasetFunction = std::function<InputPipeline(const std::vector<Value>& components)>;

// `parallel_calls`: 0 = one after the other; -1 = as the cores allow. The order stays.
InputPipeline map_dataset(const InputPipeline& input, const ElementFunction& f, std::int64_t parallel_calls = 0);
// The elements for which `keep` gives true.
InputPipeline filter_dataset(const InputPipeline& input, const std::function<Value(const std::vector<Value>&)>& wanted);
// The elements of all datasets that f makes, one dataset after the other.
InputPipeline flat_map_dataset(const InputPipeline& input, const DatasetFunction& f);
// The same, of `cycle` datasets by turns, `block` elements each; parallel_calls: so many at once.
InputPipeline interleave_dataset(const InputPipeline& input, const DatasetFunction& f, std::int64_t cycle,
                                 std::int64_t block, std::int64_t parallel_calls = 0);
// `size` elements as one, along a new first axis.
InputPipeline batch_dataset(const InputPipeline& input, std::int64_t size, bool drop_remainder = false);
// Both seeds 0: left to chance.
InputPipeline shuffle_dataset(const InputPipeline& input, std::int64_t buffer, std::int64_t seed = 0,
                              std::int64_t seed2 = 0, bool reshuffle_each_iteration = true);
InputPipeline repeat_dataset(const InputPipeline& input, std::int64_t count = -1);  // all elements again; -1: for ever
InputPipeline take_dataset(const InputPipeline& input, std::int64_t count);         // the first `count`
InputPipeline skip_dataset(const InputPipeline& input, std::int64_t count);         // without the first `count`
// Made ahead by a thread of its own; -1: as many as suits.
InputPipeline prefetch_dataset(const InputPipeline& input, std::int64_t buffer = -1);
// Kept after the first pass: in memory, or in a file.
InputPipeline cache_dataset(const InputPipeline& input, const std::string& filename = "");
// All of the first, then all of the second.
InputPipeline concatenate_dataset(const InputPipeline& first, const InputPipeline& second);
// Element by element, components side by side; as long as the shortest.
InputPipeline zip_dataset(const std::vector<InputPipeline>& inputs);

}  // namespace argosy
