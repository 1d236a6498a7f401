// Comma-separated fields. Internal to the parsing family.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "argosy/op/kernel/kernel.h"

namespace argosy {

void add_kernels_cpu_csv(KernelRegistry& kernels);

// The fields of one record. With `quotes`, a field may stand in double quotes, which are doubled inside; line ends may
// stand between fields alone. INVALID_ARGUMENT says what is wrong.
Result<std::vector<std::string>> csv_fields(std::string_view record, char delimiter, bool quotes);

}  // namespace argosy
