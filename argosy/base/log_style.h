// The format of log lines. A server's log has times and source places. A log that a person reads next to a report has
// neither.
#pragma once

namespace argosy {

enum class LogStyle {
  kLog,    // "2026-01-31 12:00:00.000000: W file.cc:12] text", TensorFlow's shape
  kPlain,  // "warning: text", "error: text", and information as it is
};

// Sets the style of the process; kLog until then. Thread-safe.
void set_log_style(LogStyle style);

}  // namespace argosy
