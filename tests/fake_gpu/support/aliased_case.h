// Runs a recorded op case with operands that share memory, and compares it with the same case whose operands have
// memory of their own.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/runtime/device_set/device_set.h"
#include "argosy/testing/op_cases/recorded_case.h"

namespace argosy {

// Operands that share memory: each of `others` gets the value and memory of `first`, or of a middle range of it with as
// many elements as it has.
struct Aliases {
  int first = 0;
  std::vector<int> others;
};

// How the operands come to share memory. In all forms but kRead, the step computes that memory and nobody reads it
// after the op.
enum class Form {
  kSame,    // one value, given several times
  kMerged,  // equal nodes, which a pass makes one
  kViews,   // views of it: Identity, Reshape, some of its elements
  kRead,    // `first` is a variable that the op changes, the others are read from it
};

// All aliases to test: pairs of operands of one dtype and shape, all operands of one dtype and shape together, and
// operands that can be a part of another. For a case that changes variables, also the values read from them.
std::vector<Aliases> aliases_of(const RecordedCase& c);
std::string describe(const Aliases& aliases);

struct AliasedRun {
  Status status;           // of the run without shared memory; nothing is compared after an error
  std::string difference;  // the form and the device with other bits; empty: none
  int forms = 0;           // forms compared
};

// Runs the case in one step of a session, on the CPU and on the GPU, if there is one. `by_dataflow`: adds a loop over
// two devices to the step, so that the dataflow executor runs it. REQUIRES then: the machine has a GPU.
AliasedRun run_aliased(const std::shared_ptr<DeviceSet>& device_set, const RecordedCase& c, const Aliases& aliases,
                       bool optimize, bool by_dataflow);

}  // namespace argosy
