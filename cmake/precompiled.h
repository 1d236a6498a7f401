// What most files of the engine include, read once (option ARGOSY_PRECOMPILE). A file still names all that it uses: the
// presets without the option hold it to that.
#pragma once

#include <bits/c++config.h>
// Bessel functions and their like, which libstdc++ otherwise instantiates for three types in every file. Files that
// call them do without this header: ARGOSY_CALLS_BESSEL in argosy/ops/CMakeLists.txt.
#undef _GLIBCXX_USE_STD_SPEC_FUNCS

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/op/kernel/kernel.h"
