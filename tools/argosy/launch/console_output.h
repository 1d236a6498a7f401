// ConsoleOutput: asynchronous writes to standard output or standard error. A thread of its own writes, so that a reader
// that has stopped reading never blocks the launcher, which must pass signals on.
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
  // Bytes that are not written by then are lost.
  ~ConsoleOutput();
  ConsoleOutput(const ConsoleOutput&) = delete;
  ConsoleOutput& operator=(const ConsoleOutput&) = delete;

  void write(std::string_view bytes);
  bool full() const;   // kMostBytes wait for the reader: who writes should wait, too
  bool empty() const;  // everything was written
  // The time since which the reader has taken none of the waiting bytes, but at least `from`. The current time where no
  // bytes wait.
  Time unread_since(Time from) const;
  // Drops the waiting bytes, and all later ones.
  void give_up();

 private:
  struct State;
  static void write_on(const std::shared_ptr<State>& state);

  const std::shared_ptr<State> state_;  // the thread's, too: it may still be in a write when this goes
  bool started_ = false;
};

}  // namespace argosy::cli
