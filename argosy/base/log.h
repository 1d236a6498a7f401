// The log: lines on stderr in the format of TensorFlow, each written as a whole. Thread-safe. ARGOSY_LOG_LEVEL (or
// TF_CPP_MIN_LOG_LEVEL) hides lower levels: 0 info, 1 warning, 2 error.
#pragma once

#include <string>

#include "argosy/base/str.h"

namespace argosy {

enum class LogLevel { kInfo = 0, kWarning = 1, kError = 2 };

void log_line(LogLevel level, const char* file, int line, const std::string& text);
bool log_enabled(LogLevel level);

}  // namespace argosy

// ARGOSY_LOG(kWarning, "rank ", rank, " is late")
#define ARGOSY_LOG(level, ...)                                                                           \
  do {                                                                                                   \
    if (::argosy::log_enabled(::argosy::LogLevel::level))                                                \
      ::argosy::log_line(::argosy::LogLevel::level, __FILE__, __LINE__, ::argosy::str_cat(__VA_ARGS__)); \
  } while (false)
