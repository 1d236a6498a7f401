// Runs a recorded op case on one device, as a step of its own, forwards and backwards.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "argosy/runtime/device_set/device_set.h"
#include "argosy/testing/op_cases/recorded_case.h"

namespace argosy {

struct CaseRun {
  Status status;
  std::vector<Tensor> values;        // outputs, then what variables hold afterwards; or gradients
  int on_device = 0, elsewhere = 0;  // nodes: the op itself, or those of its gradient
};

// `device` is "/gpu:0"; nodes without a kernel there run on the CPU. `known`: shapes and values of the inputs are known
// when the step is compiled. `reproducible`: as in SessionOptions.
CaseRun run_forward(const std::shared_ptr<DeviceSet>& device_set, const std::string& device, const RecordedCase& c,
                    bool known, bool reproducible = false);

// The gradients d(weighted sum of the outputs)/d(inputs), one for each input that has one. `outputs`: the results of
// the forward run. No values: the op has no gradient for this case.
CaseRun run_gradient(const std::shared_ptr<DeviceSet>& device_set, const std::string& device, const RecordedCase& c,
                     const std::vector<Tensor>& outputs, bool reproducible = false);

}  // namespace argosy
