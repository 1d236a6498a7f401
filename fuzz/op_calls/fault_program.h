// One program that faults are injected into: a call of an op, or one of fault_cases(). Run: a session made, its graph
// run twice, the session closed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fuzz/op_calls/build_graph.h"
#include "fuzz/op_calls/fault_cases.h"

namespace argosy::op_calls {

struct FaultProgram {
  const OpDef* op = nullptr;  // or
  int made = -1;              // an index into fault_cases()
  std::uint64_t seed = 0;
  bool on_gpus = false;  // two emulated GPUs beside the CPU

  std::string name() const;
};

// The devices it runs on; `faults` as DeviceRequest's.
DeviceRequest devices_of(const FaultProgram& program, const std::string& faults = "");
Result<std::shared_ptr<DeviceSet>> make_device_set(const DeviceRequest& request);

class PreparedProgram {
 public:
  explicit PreparedProgram(const FaultProgram& program);
  bool ok() const { return graph_.status().ok(); }
  Status run(const std::shared_ptr<DeviceSet>& device_set,
             std::chrono::seconds timeout = std::chrono::seconds(30)) const;

 private:
  Graph graph_;
  CallGraphBuilder builder_;
  std::vector<Value> fetches_, targets_;
};

// fault_cases(), then calls of as many ops as there shall be: those that end well without a fault.
std::vector<FaultProgram> choose_programs(std::size_t count);

}  // namespace argosy::op_calls
