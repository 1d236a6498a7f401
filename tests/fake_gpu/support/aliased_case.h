// A recorded op case once more, with operands that are the same memory, beside itself with operands of their own.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/runtime/machine/device_set.h"
#include "argosy/testing/recorded_case.h"

namespace argosy {

// Operands of a case that shall be one: `others` become, in value and in memory, what `first` is, or as many elements
// out of its middle as they have.
struct Aliases {
  int first = 0;
  std::vector<int> others;
};

// How they are made one. All but kRead are of memory that the step computes and nobody reads after the op.
enum class Form {
  kSame,    // one value, given several times
  kMerged,  // equal nodes, which a pass makes one
  kViews,   // views of it: Identity, Reshape, some of its elements
  kRead,    // `first` is a variable that the op changes, the others are read from it
};

// Pairs of operands of one dtype and shape, all of one dtype and shape together, and operands that can be a part of
// another one. Of a case that changes variables also what can be read from them.
std::vector<Aliases> aliases_of(const RecordedCase& c);
std::string describe(const Aliases& aliases);

struct AliasedRun {
  Status status;           // of the case with operands of their own: where it fails, nothing was compared
  std::string difference;  // which form gave other bits, on which device; empty: none did
  int forms = 0;           // compared
};

// In one step of a session of the machine, on the CPU and, where it has one, on its GPU. `by_dataflow`: the step has a
// loop over two devices beside it, so that the dataflow executor runs it. REQUIRES then: the machine has a GPU.
AliasedRun run_aliased(const std::shared_ptr<DeviceSet>& device_set, const RecordedCase& c, const Aliases& aliases,
                       bool optimize, bool by_dataflow);

}  // namespace argosy
