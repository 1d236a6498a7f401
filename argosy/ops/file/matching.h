// Files whose names match a pattern. Internal to the families that read files.
#pragma once

#include <string>
#include <vector>

#include "argosy/op/kernel/kernel.h"

namespace argosy {

// Returns the paths that match, sorted. Patterns have *, ? and [a-z] within a name; \ quotes a character. Only files
// that the step may access (argosy/op/kernel/file_policy.h); PERMISSION_DENIED if it may not access the folder where
// the pattern begins.
Result<std::vector<std::string>> matching_files(const KernelContext& c, const std::string& pattern);

}  // namespace argosy
