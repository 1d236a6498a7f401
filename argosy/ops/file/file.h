// Ops that read and write whole files, and match file names. The step's device set decides which files they may access
// (argosy/op/kernel/file_policy.h).
#pragma once

#include "argosy/graph/graph.h"

namespace argosy {

Value read_file(Value filename);                   // its bytes
Value write_file(Value filename, Value contents);  // a control value; makes its folder
Value matching_files(Value pattern);               // a scalar or a vector of patterns: *, ?, [a-z]; sorted

}  // namespace argosy
