#include "tools/argosy/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <cstring>

#include "argosy/base/check.h"

namespace argosy::cli {

namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGUSR1};

// A handler is told nothing but a number, so what it needs is process state, as signals are. Lock-free atomics and
// write() are all that is allowed in it.
std::atomic<int> asked{0};
std::atomic<bool> owned{false};
char notice_line[256];

extern "C" void argosy_interrupt(int signal) {
  int none = 0;
  if (asked.compare_exchange_strong(none, signal)) {
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, notice_line, std::strlen(notice_line));
  } else if (signal != SIGUSR1) {
    ::_exit(128 + signal);
  }
}

}  // namespace

Interrupt::Interrupt(const std::string& notice) {
  ARGOSY_CHECK(!owned.exchange(true));
  asked = 0;
  const std::string line = ("\n" + notice).substr(0, sizeof notice_line - 2) + "\n";
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
