// How the log's lines look. A server's log has times and places; what a person reads beside a report has not.
#pragma once

namespace argosy {

enum class LogStyle {
  kLog,    // "2026-01-31 12:00:00.000000: W file.cc:12] text", TensorFlow's shape
  kPlain,  // "warning: text", "error: text", and information as it is
};

// Of the whole process; kLog until it is called. Thread-safe.
void set_log_style(LogStyle style);

}  // namespace argosy
