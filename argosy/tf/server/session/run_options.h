// RunOptions as clients send them, and the options that this server does not have. Pure functions.
#pragma once

#include <string>

#include "argosy/base/status.h"

namespace tensorflow {
class RunOptions;
}  // namespace tensorflow

namespace argosy::tf {

// UNIMPLEMENTED (ARG-RPC-006): options for tensor dumps; a debugger would wait for them in vain.
Status check_options(const tensorflow::RunOptions& options);

// Parses serialised RunOptions; "" means none. INVALID_ARGUMENT when damaged, else as check_options().
Status read_options(const std::string& serialized, tensorflow::RunOptions& to);

// Whether a RunMetadata is to be filled in.
bool wants_metadata(const tensorflow::RunOptions& options);

}  // namespace argosy::tf
