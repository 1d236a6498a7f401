// Interrupt: handles Ctrl-C and a scheduler's notice. The first SIGINT, SIGTERM or SIGUSR1 is a request: the owner
// checks requested() once a step, finishes the step, writes its checkpoint and exits with kInterrupted (75). The second
// SIGINT or SIGTERM ends the process at once with 128 + its number; files that are written atomically, such as
// checkpoints, stay intact. Signals within 0.2 s of the first count as the first, since timeout(1) sends two.
//
//   Interrupt interrupt("finishing this step and writing a checkpoint; once more to stop at once");
//   while (step < steps && !interrupt.requested()) …
//
// While an Interrupt lives it owns those signals; the previous handling returns with its end. One at a time.
#pragma once

#include <csignal>
#include <string>

namespace argosy::cli {

class Interrupt {
 public:
  // `notice` is printed on stderr when the first signal arrives.
  explicit Interrupt(const std::string& notice);
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  ~Interrupt();

  // From any thread.
  bool requested() const;
  int signal() const;  // which one asked, 0 for none

 private:
  struct sigaction before_[3];
};

}  // namespace argosy::cli
