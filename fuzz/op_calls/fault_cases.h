// Programs made by hand for faults: what one call on one device does not reach. Loops over devices, branches, queues,
// pipelines, functions, values that travel between emulated GPUs.
#pragma once

#include <vector>

#include "argosy/graph/graph.h"

namespace argosy::op_calls {

struct FaultCase {
  const char* name;
  // What is fetched. Control values are run.
  std::vector<Value> (*build)(Graph& graph);
};

const std::vector<FaultCase>& fault_cases();

}  // namespace argosy::op_calls
