#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>
#include <thread>

#include "argosy/base/mutex.h"
#include "tools/argosy/launch/console_output.h"

namespace argosy::cli {

namespace {

constexpr std::size_t kPiece = 4096;  // a write of more returns when all of it was read: nobody would see it go on

// A descriptor that was made non-blocking, by whom it is shared with. Returns after 100 ms at the latest.
void wait_until_writable(int descriptor) {
  pollfd waited{.fd = descriptor, .events = POLLOUT, .revents = 0};
  (void)::poll(&waited, 1, 100);
}

}  // namespace

struct ConsoleOutput::State {
  explicit State(int d) : descriptor(d) {}
  const int descriptor;
  mutable Mutex mutex;
  CondVar changed;
  std::string waiting ARGOSY_GUARDED_BY(mutex);
  std::size_t writing ARGOSY_GUARDED_BY(mutex) = 0;  // bytes that the thread has taken and not written
  Time taken_at ARGOSY_GUARDED_BY(mutex) = std::chrono::steady_clock::now();
  bool deaf ARGOSY_GUARDED_BY(mutex) = false;  // nobody reads, now or ever
  bool over ARGOSY_GUARDED_BY(mutex) = false;
};

ConsoleOutput::ConsoleOutput(int descriptor) : state_(std::make_shared<State>(descriptor)) {}

ConsoleOutput::~ConsoleOutput() {
  MutexLock lock(state_->mutex);
  state_->over = true;
  state_->changed.notify_one();
}

void ConsoleOutput::write_on(const std::shared_ptr<State>& state) {
  std::string taken;
  while (true) {
    {
      MutexLock lock(state->mutex);
      while (state->waiting.empty() && !state->over) state->changed.wait(state->mutex);
      if (state->over || state->deaf) return;
      taken.clear();
      taken.swap(state->waiting);
      state->writing = taken.size();
      state->taken_at = std::chrono::steady_clock::now();
    }
    for (std::string_view rest = taken; !rest.empty();) {
      const ssize_t n = ::write(state->descriptor, rest.data(), std::min(rest.size(), kPiece));
      if (n < 0 && errno == EINTR) continue;
      const bool later = n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
      if (later) wait_until_writable(state->descriptor);
      MutexLock lock(state->mutex);
      if (later && !state->over && !state->deaf) continue;
      if (n <= 0) state->deaf = true;
      if (state->deaf) {
        state->waiting.clear();
        state->writing = 0;
        return;
      }
      rest.remove_prefix(static_cast<std::size_t>(n));
      state->writing = rest.size();
      state->taken_at = std::chrono::steady_clock::now();
    }
  }
}

void ConsoleOutput::write(std::string_view bytes) {
  if (bytes.empty()) return;
  {
    MutexLock lock(state_->mutex);
    if (state_->deaf) return;
    state_->waiting += bytes;
    state_->changed.notify_one();
  }
  if (started_) return;
  started_ = true;
  try {
    std::thread([state = state_] { write_on(state); }).detach();
  } catch (const std::system_error&) {
    give_up();  // without a thread nothing can be shown
  }
}

bool ConsoleOutput::full() const {
  MutexLock lock(state_->mutex);
  return !state_->deaf && state_->waiting.size() + state_->writing >= kMostBytes;
}

bool ConsoleOutput::empty() const {
  MutexLock lock(state_->mutex);
  return state_->deaf || state_->waiting.size() + state_->writing == 0;
}

ConsoleOutput::Time ConsoleOutput::unread_since(Time from) const {
  MutexLock lock(state_->mutex);
  if (state_->deaf || state_->waiting.size() + state_->writing == 0) return std::chrono::steady_clock::now();
  return std::max(from, state_->taken_at);
}

void ConsoleOutput::give_up() {
  MutexLock lock(state_->mutex);
  state_->deaf = true;
  state_->waiting.clear();
  state_->changed.notify_one();
}

}  // namespace argosy::cli
