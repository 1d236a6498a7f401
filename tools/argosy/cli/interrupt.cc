#include "tools/argosy/cli/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <ctime>

#include "argosy/base/check.h"

namespace argosy::cli {

namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGUSR1};

// A signal handler gets only a number, so its state is global, as signals are. Only lock-free atomics and write() are
// allowed in it.
std::atomic<int> asked{0};
std::atomic<std::int64_t> asked_at{0};
std::atomic<bool> owned{false};
char notice_line[256];

// Signals within this time count as one: `timeout` sends its signal to the process and to its group, and wrappers pass
// a shell's Ctrl-C on, some microseconds apart.
constexpr std::int64_t kSameWishNanos = 200'000'000;

std::int64_t nanos_now() {  // what a handler may call
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

extern "C" void argosy_interrupt(int signal) {
  int none = 0;
  if (asked.compare_exchange_strong(none, signal)) {
    asked_at = nanos_now();
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, notice_line, std::strlen(notice_line));
  } else if (signal != SIGUSR1 && asked_at != 0 && nanos_now() - asked_at > kSameWishNanos) {
    ::_exit(128 + signal);
  }
}

}  // namespace

Interrupt::Interrupt(const std::string& notice) {
  ARGOSY_CHECK(!owned.exchange(true));
  asked = 0;
  asked_at = 0;
  // Behind the terminal's ^C; in a log the notice has a line of its own as it is.
  const std::string line = ((isatty(STDERR_FILENO) != 0 ? "\n" : "") + notice).substr(0, sizeof notice_line - 2) + "\n";
  std::memcpy(notice_line, line.c_str(), line.size() + 1);
  struct sigaction action {};
  action.sa_handler = argosy_interrupt;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (int i = 0; i < 3; ++i) sigaction(kSignals[i], &action, &before_[i]);
}

Interrupt::~Interrupt() {
  for (int i = 0; i < 3; ++i) sigaction(kSignals[i], &before_[i], nullptr);
  owned = false;
}

bool Interrupt::requested() const { return asked != 0; }
int Interrupt::signal() const { return asked; }

}  // namespace argosy::cli
