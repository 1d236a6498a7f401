// RunOptions as clients send them, and what of them this server cannot do. Thread-safe.
#pragma once

#include <string>

#include "argosy/base/status.h"

namespace tensorflow {
class RunOptions;
}  // namespace tensorflow

namespace argosy::tf {

// UNIMPLEMENTED: options that ask for what would silently not happen, so that a debugger would wait for its dumps.
Status check_options(const tensorflow::RunOptions& options);

// Serialised ones; "" means none. INVALID_ARGUMENT when damaged, else as above.
Status read_options(const std::string& serialized, tensorflow::RunOptions& to);

// Whether a RunMetadata is to be filled in.
bool wants_metadata(const tensorflow::RunOptions& options);

}  // namespace argosy::tf
