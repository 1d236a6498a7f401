#include "argosy/base/log.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "argosy/base/log_style.h"

namespace argosy {

namespace {
// Signals and threads of every kind log: there is one log of a process, as there is one stderr.
std::atomic<LogStyle> style{LogStyle::kLog};

int minimum_level() {
  static const int level = [] {
    for (const char* name : {"ARGOSY_LOG_LEVEL", "TF_CPP_MIN_LOG_LEVEL"}) {
      if (const char* value = std::getenv(name)) return std::atoi(value);
    }
    return 0;
  }();
  return level;
}
}  // namespace

bool log_enabled(LogLevel level) { return static_cast<int>(level) >= minimum_level(); }

void set_log_style(LogStyle wanted) { style.store(wanted, std::memory_order_relaxed); }

void log_line(LogLevel level, const char* file, int line, const std::string& text) {
  if (style.load(std::memory_order_relaxed) == LogStyle::kPlain) {
    constexpr const char* kBegin[] = {"", "warning: ", "error: "};
    std::fprintf(stderr, "%s%s\n", kBegin[static_cast<int>(level)], text.c_str());
    return;
  }
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count() % 1000000;
  std::tm local{};
  localtime_r(&seconds, &local);
  char stamp[32];
  std::strftime(stamp, sizeof stamp, "%Y-%m-%d %H:%M:%S", &local);
  const char* base = std::strrchr(file, '/');
  // One call, one line: stdio locks the stream for the length of a call.
  std::fprintf(stderr, "%s.%06d: %c %s:%d] %s\n", stamp, static_cast<int>(micros), "IWE"[static_cast<int>(level)],
               base ? base + 1 : file, line, text.c_str());
}

}  // namespace argosy
