// LocalRendezvous: a Rendezvous in this process' memory, for the values that leave one task in one run of a step.
//
//   send ───►  value waits  ───► receive        whichever comes first
//              receive waits
//
// A value is released once it was received. The destructor releases the values that are left.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/op/kernel/rendezvous.h"

namespace argosy {

// Thread-safe. Callbacks are called with no lock held.
class LocalRendezvous final : public Rendezvous {
 public:
  LocalRendezvous() = default;
  ~LocalRendezvous() override;  // answers waiting receives with CANCELLED
  LocalRendezvous(const LocalRendezvous&) = delete;
  LocalRendezvous& operator=(const LocalRendezvous&) = delete;

  Status send(const RendezvousKey& key, Tensor value, bool dead) override;
  void receive(const RendezvousKey& key, Done done) override { (void)receive_numbered(key, std::move(done)); }
  void abort(Status cause) override;

  // As receive(). Returns a number for cancel_receive(); 0: `done` was called already.
  std::int64_t receive_numbered(const RendezvousKey& key, Done done);
  // Withdraws a receive; the value then stays for a later one. False: the receive was answered already.
  bool cancel_receive(const RendezvousKey& key, std::int64_t number);

  // Called when the task has ended its part, so nothing more is sent. Receives of values that were not sent get
  // INTERNAL "ARG-SEND-003", the waiting ones and later ones.
  void end_sends();

 private:
  struct Hash {
    std::size_t operator()(const RendezvousKey& key) const;
  };
  struct Item {
    enum class State : char { kSent, kWanted, kTaken } state = State::kSent;
    Received value;           // kSent
    Done waiting;             // kWanted
    std::int64_t number = 0;  // kWanted
  };
  using Items = std::unordered_map<RendezvousKey, Item, Hash>;
  // Removes every waiting receive, and returns them.
  std::vector<std::pair<RendezvousKey, Done>> take_waiting() ARGOSY_REQUIRES(mutex_);
  void take(Items::iterator at) ARGOSY_REQUIRES(mutex_);

  Mutex mutex_;
  Status cause_ ARGOSY_GUARDED_BY(mutex_);
  bool ended_ ARGOSY_GUARDED_BY(mutex_) = false;
  std::int64_t next_ ARGOSY_GUARDED_BY(mutex_) = 1;
  Items items_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy
