// Whole files, and names of files. Which may be touched is asked of the step's device set (argosy/op/kernel/file_policy.h).
#pragma once

#include "argosy/graph/graph.h"

namespace argosy {

Value read_file(Value filename);                   // its bytes
Value write_file(Value filename, Value contents);  // a control value; makes its folder
Value matching_files(Value pattern);               // a scalar or a vector of patterns: *, ?, [a-z]; sorted

}  // namespace argosy
