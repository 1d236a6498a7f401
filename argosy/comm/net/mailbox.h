// Mailbox: shared memory to which tasks of one host write messages for its owner. A memfd, which the others map.
//
//   header   bell: the count of messages; who sleeps; whether the owner is over; the secret
//   rings    one for each task, which writes there; the owner takes
//
// Internal to argosy/comm/net.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "argosy/base/status.h"
#include "argosy/base/system/shared_memory.h"

namespace argosy {

class Mailbox {
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
  // What a message is. Tasks that disagree about a call learn it from this.
  enum class Kind : std::uint16_t { kPiece, kAddress, kWasRead };
  enum class Over : std::uint32_t { kNo, kEnded, kAborted };

  // This task's own, for messages of so many. UNAVAILABLE: the system has no memory of this kind.
  static Result<std::unique_ptr<Mailbox>> make(std::size_t tasks);
  // Another task's. Null: it is on another host, or the system forbids it.
  static std::unique_ptr<Mailbox> open(const Address& address, std::size_t tasks);
  ~Mailbox();
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // Of an own one, until close_file().
  Address address() const;
  // Nobody else opens it from now on.
  void close_file() { memory_.close_file(); }

  // Writes a message of task `sender`. One thread at a time for each. False: there is no room now.
  bool put(int sender, std::uint32_t tag, Kind kind, const void* message, std::size_t bytes);
  // Takes the messages of a task, in order. One thread at a time. DATA_LOSS ARG-COMM-029: it wrote something else.
  Status take(int sender, const std::function<void(std::uint32_t tag, Kind kind, std::string message)>& each);

  // Counts the bell up, and wakes the owner's threads that wait().
  void ring();
  std::uint32_t bell() const;
  // Waits until the bell is no longer `bell`, at most so long. It may return early.
  void wait(std::uint32_t bell, std::int64_t nanos);

  // The first of the two ends stays. Where over() is kNo, what this thread read of the owner's memory before was read
  // before any end.
  void end(Over how);
  Over over() const;
  // Of another task's: whether its process has ended.
  bool process_ended() const;

 private:
  struct Header;
  struct Ring;
  Mailbox(SharedMemory memory, int process) : memory_(std::move(memory)), process_(process) {}
  static std::size_t size_for(std::size_t tasks);
  Header& header() const;
  Ring& ring_of(int sender) const;

  SharedMemory memory_;
  const int process_;  // of another's: a descriptor that is readable once the process has ended
};

}  // namespace argosy
