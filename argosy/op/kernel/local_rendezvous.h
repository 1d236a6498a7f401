// LocalRendezvous: the values of one run of a step that leave one task, in this process' memory.
//
//   send ───►  value waits  ───► receive        whichever comes first
//              receive waits
//
// A value is dropped when it was received. Values and receives that are left go with the object.
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
  ~LocalRendezvous() override;  // receives that wait are answered CANCELLED
  LocalRendezvous(const LocalRendezvous&) = delete;
  LocalRendezvous& operator=(const LocalRendezvous&) = delete;

  Status send(const RendezvousKey& key, Tensor value, bool dead) override;
  void receive(const RendezvousKey& key, Done done) override { (void)receive_numbered(key, std::move(done)); }
  void abort(Status cause) override;

  // As receive(). Returns a number for give_up(); 0: `done` was called.
  std::int64_t receive_numbered(const RendezvousKey& key, Done done);
  // Nobody waits for that value any more: it stays until somebody does. False: it was given already.
  bool give_up(const RendezvousKey& key, std::int64_t number);

  // Its task has ended its part: nothing more is sent. Whoever waits for what is not there gets INTERNAL "ARG-SEND-003"
  // instead of waiting for ever; so do later ones.
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
  // Takes out every receive that waits.
  std::vector<std::pair<RendezvousKey, Done>> take_waiting() ARGOSY_REQUIRES(mutex_);
  void take(Items::iterator at) ARGOSY_REQUIRES(mutex_);

  Mutex mutex_;
  Status cause_ ARGOSY_GUARDED_BY(mutex_);
  bool ended_ ARGOSY_GUARDED_BY(mutex_) = false;
  std::int64_t next_ ARGOSY_GUARDED_BY(mutex_) = 1;
  Items items_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy
