// Staging areas: one step puts values in, a later one takes them out, so that fetching the next batch and computing on
// this one overlap. An area lives on its device by its shared name; putting waits for room, taking for something to
// take, without holding a thread.
#pragma once

#include <string>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// A staging area: a buffer of elements between two parts of a step.
struct StagingSpec {
  std::vector<DType> dtypes = {};  // of the values of one element
  std::string shared_name = {};    // must be given: it is what the nodes of one area have in common
  std::int64_t capacity = 0;       // elements; 0: no limit
  std::int64_t memory_limit = 0;   // bytes; 0: no limit
};

// First in, first out. A control value, done when the area has taken the element.
Value stage(Graph& graph, const StagingSpec& spec, const std::vector<Value>& values);
// The oldest element, one value per dtype; it is gone.
std::vector<Value> unstage(Graph& graph, const StagingSpec& spec);
Value stage_size(Graph& graph, const StagingSpec& spec);  // elements in it; int32 scalar

}  // namespace argosy
