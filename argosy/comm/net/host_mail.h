// HostMail: short messages between tasks of one host, in memory that they share. While both tasks are awake a message
// needs no system call; a task that waits for long sleeps.
//
// Messages of one sender and tag arrive in order. Those of other tags may overtake: the owner's threads sort them.
#pragma once

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
#include "argosy/comm/net/mailbox.h"

namespace argosy {

// Thread-safe, once all mailboxes are open.
class HostMail {
 public:
  // UNAVAILABLE: the system has no memory of this kind. `timeout`: of every wait.
  static Result<std::unique_ptr<HostMail>> make(int rank, int size, std::chrono::milliseconds timeout);
  // Tells the others that no message will come from here.
  ~HostMail();

  // Opening, by one thread. Every task opens what it can, then closes what another could not open.
  Mailbox::Address address() const { return own_->address(); }
  bool open(int task, const Mailbox::Address& address);
  void close(int task) { boxes_[static_cast<std::size_t>(task)].reset(); }
  void close_file() { own_->close_file(); }
  bool is_open(int task) const { return boxes_[static_cast<std::size_t>(task)] != nullptr; }

  // REQUIRES: the task's mailbox is open, bytes <= Mailbox::kMostBytes. Waits only while there is no room. Errors as
  // receive().
  Status send(int task, std::uint32_t tag, Mailbox::Kind kind, const void* message, std::size_t bytes);
  // The next message of that task and tag. UNAVAILABLE ARG-COMM-025: that task or this one has ended or was aborted.
  // DEADLINE_EXCEEDED ARG-COMM-024. DATA_LOSS ARG-COMM-029: it has another kind or size.
  Status receive(int task, std::uint32_t tag, Mailbox::Kind kind, void* message, std::size_t bytes);
  // OK: that task has not ended and was not aborted until now. So what was read from its memory before is what it meant.
  Status lives(int task) const { return trouble(task, true); }
  // Ends all waits of this task with UNAVAILABLE, and those of the others for it. When it returns, and when a wait that
  // it ends returns, lives() of the others is false.
  void abort();

 private:
  HostMail(int rank, int size, std::chrono::milliseconds timeout, std::unique_ptr<Mailbox> own);
  // Moves what has come from the own mailbox to the queues.
  Status sort() ARGOSY_REQUIRES(mutex_);
  // Sorts, and returns whether there was a message to copy.
  Result<bool> look(int task, std::uint32_t tag, Mailbox::Kind kind, void* message, std::size_t bytes)
      ARGOSY_EXCLUDES(mutex_);
  // Returns an error if no message of `task` is to come. `look`: also look whether its process lives.
  Status trouble(int task, bool look) const;
  void ring_all() const;

  const int rank_;
  const std::chrono::milliseconds timeout_;
  const std::unique_ptr<Mailbox> own_;
  std::vector<std::unique_ptr<Mailbox>> boxes_;  // of the others, by task; null: not open
  const std::unique_ptr<Mutex[]> sends_;         // by task: one thread at a time writes to it
  std::atomic<bool> aborted_{false};
  Mutex mutex_;
  using Message = std::pair<Mailbox::Kind, std::string>;
  std::map<std::pair<int, std::uint32_t>, std::deque<Message>> come_ ARGOSY_GUARDED_BY(mutex_);  // by task and tag
};

}  // namespace argosy
