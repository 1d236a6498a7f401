// Simulates one run of a compiled step. Each device executes its instructions in the step's static schedule, waits for
// the same dependencies as in a run, and shares the machine's cores. So simulation and run have the same order.
//
//   order of gpu:0   [copy][conv ….][grad 9][grad 8]──wait──[update]
//                                     └start┐             ▲
//   bucket 0                                └─[all-reduce]┘      starts when the last member has started
//   order of gpu:1   [copy][conv ……..][grad 9][grad 8]─wait─[update]
//
// Pure: the same step, times and rates give the same answer.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "argosy/planner/machine_rates.h"
#include "argosy/runtime/step/step.h"

namespace argosy {

// Seconds of one instruction's kernel, alone on the machine. `node` is in the step's graph.
using KernelSeconds = std::function<double(const Node& node, const Graph& graph, int device)>;

struct SimulatorOptions {
  KernelSeconds kernel;
  const MachineRates* rates = nullptr;  // null: copies and collectives take no time
  int cores = 1;                        // of the machine; devices in host memory share them
  bool free_collectives = false;        // collectives take no time
  bool free_copies = false;             // copies take no time
};

struct SimulatedStep {
  double seconds = 0;                // from the first device's start to the last one's end
  std::vector<double> busy_seconds;  // by device of the device set: kernels and copies
  double collective_seconds = 0;     // of all collectives together, as if one followed the other
};

// FAILED_PRECONDITION: the step has no static schedule, as with control flow that depends on data.
Result<SimulatedStep> simulate_step(const Step& step, const SimulatorOptions& options);

}  // namespace argosy
