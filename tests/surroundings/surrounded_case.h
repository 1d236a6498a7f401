// Runs a recorded op case in a branch, in a branch that is not taken, in a loop and in a function, with constants for
// operands. Passes fold, merge and move nodes there. The results must be those of the op alone.
#pragma once

#include <memory>
#include <string>

#include "argosy/runtime/device_set/device_set.h"
#include "argosy/testing/op_cases/recorded_case.h"

namespace argosy {

// What surrounds the op.
enum class Surroundings {
  kTop,       // nothing
  kCall,      // a function that is called
  kTaken,     // the branch that is taken
  kNotTaken,  // the other branch; the one taken gives zeros
  kLoop,      // a loop of two iterations, which both compute it
};

struct SurroundedRun {
  Status status;           // of the op alone
  std::string difference;  // surroundings, output and place; empty: none
  int forms = 0;           // surroundings compared
};

// True: the op gives the same for the same operands, touches nothing else, and does not wait.
bool may_be_surrounded(const RecordedCase& c);

// The operand `fed` is fed, all others are constants. -1: all are constants. `inside`: constants are nodes of the branch,
// body or function; else it captures them.
SurroundedRun run_surrounded(const std::shared_ptr<DeviceSet>& device_set, const RecordedCase& c, int fed, bool inside);

}  // namespace argosy
