// Iterators: they take the elements of a dataset (argosy/ops/dataset/dataset.h) into a graph, one in each run.
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

// An iterator, its initializer and its elements.
struct IteratorValue {
  Value handle;             // a resource
  Value initializer;        // starts at the first element; not valid() if the first run does that
  std::vector<Value> next;  // the components of the next element: one node, which takes one element per run
};

// An iterator that `initializer` starts, each time that it runs.
IteratorValue initializable_iterator(const InputPipeline& elements, std::string_view name = "");
// An iterator that the first run starts. It calls a function that `make` builds the dataset in. That function may not
// capture values from around it.
IteratorValue one_shot_iterator(Graph& graph, const std::function<InputPipeline(Graph&)>& make,
                                std::string_view name = "");

}  // namespace argosy
