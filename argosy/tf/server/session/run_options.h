// Parses clients' RunOptions, and refuses options that this server does not support. Pure functions.
#pragma once

#include <string>

#include "argosy/base/status.h"

namespace tensorflow {
class RunOptions;
}  // namespace tensorflow

namespace argosy::tf {

// UNIMPLEMENTED (ARG-RPC-006): debug_options ask for tensor dumps, which this server does not write.
Status check_options(const tensorflow::RunOptions& options);

// Parses serialised RunOptions; "" means none. INVALID_ARGUMENT: damaged. Else errors of check_options().
Status read_options(const std::string& serialized, tensorflow::RunOptions& to);

// True if the options ask for a RunMetadata.
bool wants_metadata(const tensorflow::RunOptions& options);

}  // namespace argosy::tf
