// An error as programs read it: {"code", "id", "message", "where", "next"}.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "argosy/base/status.h"

namespace argosy::cli {

// `command`: "argosy train", where the error does not say where. For documents that hold results and an error, too.
nlohmann::ordered_json error_json(const Status& status, std::string_view command);

}  // namespace argosy::cli
