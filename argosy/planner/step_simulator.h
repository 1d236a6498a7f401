// Simulates one run of a compiled step: each device walks its instructions in the step's own order, waits for what the
// step says, and shares the machine's cores. So the simulation and the run cannot order work in different ways.
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
  const MachineRates* rates = nullptr;  // null: nothing travels
  int cores = 1;                        // of the machine; devices in host memory share them
  bool free_collectives = false;        // they take no time: how long the step would take without them
  bool free_copies = false;             // likewise
};

struct SimulatedStep {
  double seconds = 0;                // from the first device's start to the last one's end
  std::vector<double> busy_seconds;  // by device of the device set: kernels and copies
  double collective_seconds = 0;     // of all collectives together, as if one followed the other
};

// FAILED_PRECONDITION: the step has no static order (control flow that follows data).
Result<SimulatedStep> simulate_step(const Step& step, const SimulatorOptions& options);

}  // namespace argosy
