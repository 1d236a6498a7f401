// The file of this process's error, for a launcher that collects the causes of its tasks: argosy launch sets
// ARGOSY_ERROR_FILE.
#pragma once

#include <string>

#include "argosy/base/status.h"

namespace argosy::cli {

// Does nothing where nobody asked for it.
void write_error_file(const Status& status, const std::string& command);

}  // namespace argosy::cli
