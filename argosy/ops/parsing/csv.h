// Comma-separated fields. Internal to the parsing family.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "argosy/op/kernel/kernel.h"

namespace argosy {

void add_kernels_cpu_csv(KernelRegistry& kernels);

// The fields of one record. With `quotes`, a field may be in double quotes; quotes inside it are doubled. Line ends
// between fields are skipped; only a quoted field may contain them. INVALID_ARGUMENT says what is wrong.
Result<std::vector<std::string>> csv_fields(std::string_view record, char delimiter, bool quotes);

}  // namespace argosy
