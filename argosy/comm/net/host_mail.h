// HostMail: short messages between tasks of one host, in memory that they share. While both tasks are awake a message
// needs no system call; a task that waits for long sleeps on a futex.
//
//   mailbox of a task, a memfd that the others map
//     header   doorbell: the count of messages; who sleeps; whether the task is over
//     rings    one for each other task, which writes there; the owner reads
//
// Messages of one sender and tag arrive in order. Those of other tags may overtake: the owner's threads sort them.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/base/status.h"

namespace argosy {

// Thread-safe, once all mailboxes are open.
class HostMail {
 public:
  static constexpr std::size_t kMostBytes = 8 << 10;  // of a message
  using Secret = std::array<std::uint64_t, 2>;
  // Where other tasks find a mailbox, if they are in this host's namespaces of processes and networks. A container with a
  // network of its own is another host.
  struct Address {
    std::int64_t process = 0;   // 0: there is none
    std::uint64_t network = 0;  // the namespace
    std::int64_t file = 0;
    std::uint64_t secret_at = 0;  // the address of the secret in that process
    Secret secret{};
  };

  // UNAVAILABLE: the system has no memory of this kind. `timeout`: of every wait.
  static Result<std::unique_ptr<HostMail>> make(int rank, int size, std::chrono::milliseconds timeout);
  // Tells the others that no message will come from here.
  ~HostMail();

  Address address() const;
  // Opens the mailbox of another task. False: it is on another host, or the system forbids it.
  bool open(int task, const Address& address);
  // All tasks have opened what they can, and agree that no messages go to and from this one.
  void close(int task);
  // Only this task's mappings keep its mailbox from now on.
  void close_file();
  bool is_open(int task) const { return boxes_[static_cast<std::size_t>(task)] != nullptr; }

  // REQUIRES: the task's mailbox is open, bytes <= kMostBytes. Waits only while its ring is full. Errors as receive().
  Status send(int task, std::uint32_t tag, const void* message, std::size_t bytes);
  // The next message of that task and tag. UNAVAILABLE ARG-COMM-025: that task or this one has ended or was
  // aborted. DEADLINE_EXCEEDED ARG-COMM-024. DATA_LOSS ARG-COMM-029: it has another size.
  Status receive(int task, std::uint32_t tag, void* message, std::size_t bytes);
  // Ends all waits of this task with UNAVAILABLE, and those of the others for it.
  void abort();

 private:
  struct Box;  // a mapped mailbox
  struct Ring;
  HostMail(int rank, int size, std::chrono::milliseconds timeout);
  // Moves what has come from the rings to the queues.
  Status sort() ARGOSY_REQUIRES(mutex_);
  // Returns an error if no message of `task` is to come. `slept`: look whether its process lives.
  Status trouble(int task, bool slept) const;
  void wake(Box& box) const;

  const int rank_;
  const std::chrono::milliseconds timeout_;
  int file_ = -1;
  std::unique_ptr<Box> own_;
  std::vector<std::unique_ptr<Box>> boxes_;  // of the others, by task; null: not open
  const std::unique_ptr<Mutex[]> sends_;     // by task: one writer of a ring at a time
  std::atomic<bool> aborted_{false};
  Mutex mutex_;
  std::map<std::pair<int, std::uint32_t>, std::deque<std::string>> come_ ARGOSY_GUARDED_BY(mutex_);  // by task and tag
};

}  // namespace argosy
