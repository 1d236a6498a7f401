// What --feed gives a graph: .npy files, and scalars as text, read in the dtype that the graph wants.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "argosy/runtime/session/session.h"
#include "tools/argosy/graph/graph_source.h"

namespace argosy::cli {

// Of "NAME=FILE.npy" and "NAME=TEXT", one for each word. INVALID_ARGUMENT names the word and the dtype's range: no
// number is altered but for rounding to a floating dtype.
Result<Feeds> read_feeds(GraphSource& source, const std::vector<std::string>& words);

}  // namespace argosy::cli
