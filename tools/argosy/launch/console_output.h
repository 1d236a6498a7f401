// ConsoleOutput: a descriptor of this program's that others read: standard output, or standard error. Writing to it never
// waits, for a thread does it. So a reader that has stopped reading holds nobody up who has signals to pass on.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string_view>

namespace argosy::cli {

// Used by one thread.
class ConsoleOutput {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::size_t kMostBytes = 4 << 20;

  explicit ConsoleOutput(int descriptor);
  // What nobody has read by then is lost.
  ~ConsoleOutput();
  ConsoleOutput(const ConsoleOutput&) = delete;
  ConsoleOutput& operator=(const ConsoleOutput&) = delete;

  void write(std::string_view bytes);
  bool full() const;   // kMostBytes wait for the reader: who writes should wait, too
  bool empty() const;  // everything was written
  // Since when nothing was taken of what waits, but not before `from`. The current time where nothing waits.
  Time unread_since(Time from) const;
  // Drops what waits, and all that comes.
  void give_up();

 private:
  struct State;
  static void write_on(const std::shared_ptr<State>& state);

  const std::shared_ptr<State> state_;  // the thread's, too: it may still be in a write when this goes
  bool started_ = false;
};

}  // namespace argosy::cli
