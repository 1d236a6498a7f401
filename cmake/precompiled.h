// What most files of the engine include, read once (option ARGOSY_PRECOMPILE). A file still names all that it uses: the
// presets without the option hold it to that.
#pragma once

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
#include "argosy/op/kernel.h"
