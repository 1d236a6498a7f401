// A number of things in words: "1 step", "2 steps".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "argosy/base/str.h"

namespace argosy::cli {

// `what` is a singular whose plural ends in s.
inline std::string count_of(std::int64_t n, std::string_view what) { return str_cat(n, " ", what, n == 1 ? "" : "s"); }

}  // namespace argosy::cli
