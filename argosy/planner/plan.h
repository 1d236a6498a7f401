// Plan: a strategy for a model on devices, with its predicted time and memory, its collectives, and the alternatives
// with the reasons against them. A value type.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "argosy/device/device.h"
#include "argosy/strategy/data_parallel/data_parallel.h"
#include "argosy/strategy/strategy_spec.h"

namespace argosy {

// The predicted time of a step. Predictions rest on measurements of the machine's devices when the plan was made.
struct Prediction {
  double step_seconds = 0;         // from one step's loss to the next one's
  double samples_per_second = 0;   // of the global batch
  double spread = 0;               // of the measured steps, as a fraction of step_seconds
  double input = 0;                // seconds of a step in which devices wait for the next batch
  double exposed_collectives = 0;  // seconds that the step would take less if collectives took no time
  double exposed_copies = 0;       // likewise for copies between host and devices
  double collectives = 0;          // seconds of all collectives together
  double compute = 0;              // seconds of kernels and copies on the busiest device
  std::string disturbed = {};      // "other programs took 1.3 of 2 cores", during measurements; "": they did not
};

// A collective, and its predicted time.
struct PlannedTransfer : PlannedCollective {
  double seconds = 0;  // from the last device's arrival to the end; 0: its size is not fixed
};

// The memory of a device, by the certificate: the forecast of the compiled step.
struct PlannedMemory {
  std::string device;           // full name
  std::uint64_t bytes = 0;      // of a step: variables, arena, constants, outputs
  std::uint64_t variables = 0;  // the part of it that stays
  std::uint64_t limit = 0;      // what a step may take of the device; 0: no limit
  bool exact = true;            // false: some shapes are known only while the step runs
};

// A strategy that was not chosen.
struct Alternative {
  StrategySpec strategy;    // dp is the number of devices
  int devices = 1;          // the number that it uses
  bool fits = true;         // it can be run, in the memory of its devices
  double step_seconds = 0;  // 0: it does not fit, or was not predicted
  std::string why;          // why it was not chosen: "3.2 ms slower: …", "does not fit: …"
};

struct Plan {
  StrategySpec strategy;                     // dp is the number of devices
  std::vector<DeviceSpec> devices;           // the devices that it uses
  int devices_asked = 1;                     // the number of devices in the request
  std::int64_t batch = 0;                    // global
  std::string replication;                   // "2 devices, loss: a mean over the batch, …"
  Prediction predicted;                      // of a step
  std::vector<PlannedTransfer> collectives;  // in the order of DataParallel::collectives()
  std::vector<PlannedWhole> whole;           // nodes that are not sharded, though they depend on the batch
  std::vector<PlannedNode> asked;            // by PlanOptions::nodes
  std::vector<ReplicationNote> notes;        // where the step differs from one device's
  std::vector<PlannedMemory> memory;         // by device; the host's first
  std::vector<Alternative> alternatives;     // fastest first
  int not_tried = 0;                         // candidates for which there was no time
};

}  // namespace argosy
