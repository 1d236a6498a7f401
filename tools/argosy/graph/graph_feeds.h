// The feeds of --feed: .npy files, and scalars as text, converted to the dtype of the fed value.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "argosy/runtime/session/session.h"
#include "tools/argosy/graph/graph_source.h"

namespace argosy::cli {

// Reads the words "NAME=FILE.npy" and "NAME=TEXT", each a feed. INVALID_ARGUMENT names the word; for a number that the
// dtype cannot hold, also the dtype's range. Only rounding to a floating dtype changes numbers.
Result<Feeds> read_feeds(GraphSource& source, const std::vector<std::string>& words);

}  // namespace argosy::cli
