// Files whose names match a pattern. Internal to the families that read files.
#pragma once

#include <string>
#include <vector>

#include "argosy/op/kernel/kernel.h"

namespace argosy {

// Paths that match, sorted: * and ? and [a-z] within a name, \ before a character that means itself. Only files that
// the step may touch (argosy/op/kernel/file_policy.h); PERMISSION_DENIED when the folder where the pattern begins is not
// allowed.
Result<std::vector<std::string>> matching_files(const KernelContext& c, const std::string& pattern);

}  // namespace argosy
