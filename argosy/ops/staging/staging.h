// Staging areas: one step puts values in, and a later one takes them out. So fetching the next batch overlaps with
// computing on this one. An area belongs to its device, and is found by its shared name. Putting waits for room, and
// taking for values, without blocking a thread.
#pragma once

#include <string>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// The description of a staging area, which all its nodes share.
struct StagingSpec {
  std::vector<DType> dtypes = {};  // of the values of one element
  std::string shared_name = {};    // must be given: it identifies the area
  std::int64_t capacity = 0;       // elements; 0: no limit
  std::int64_t memory_limit = 0;   // bytes; 0: no limit
};

// Puts an element into the area, which is first in, first out. Returns a control value, done when the area has the
// element.
Value stage(Graph& graph, const StagingSpec& spec, const std::vector<Value>& values);
// Takes the oldest element, one value per dtype.
std::vector<Value> unstage(Graph& graph, const StagingSpec& spec);
Value stage_size(Graph& graph, const StagingSpec& spec);  // the number of elements; int32 scalar

}  // namespace argosy
