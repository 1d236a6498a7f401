// Iterators: where a graph takes the elements of a dataset (argosy/ops/dataset/dataset.h), one by one, in every run.
//
//   const InputPipeline batches = batch_dataset(range_dataset(graph, 0, 100, 1), 10);
//   const IteratorValue iterator = initializable_iterator(batches);
//   session.run_targets({iterator.initializer});
//   session.run({iterator.next[0]});   // until OUT_OF_RANGE "End of sequence"
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "argosy/ops/dataset/dataset.h"

namespace argosy {

// An iterator and the op that starts it.
struct IteratorValue {
  Value handle;             // a resource
  Value initializer;        // starts over, from the first element; not valid() where the first run does that
  std::vector<Value> next;  // the components of the next element: one node, which takes one element a run
};

// An iterator that `initializer` starts, as often as it is run.
IteratorValue initializable_iterator(const InputPipeline& elements, std::string_view name = "");
// `make` builds the dataset inside a function of its own, which the first run calls. It may not take values from around
// it.
IteratorValue one_shot_iterator(Graph& graph, const std::function<InputPipeline(Graph&)>& make,
                                std::string_view name = "");

}  // namespace argosy
