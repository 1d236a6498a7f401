// InprocRendezvous: where the ranks of an in-process group meet, and what happens then. Internal to InprocGroup.
//
//   start() or run() of each rank ──► InprocRounds ──► the last to come: begin ──► a backend, or the host's memory
//                                                                                    │
//   every rank's `done`  ◄────────────────────── finish ◄────────────────────────────┘
#pragma once

#include <memory>
#include <vector>

#include "argosy/comm/inproc_group.h"
#include "argosy/comm/inproc_rounds.h"
#include "argosy/comm/rank_waiter.h"

namespace argosy {

// Thread-safe.
class InprocRendezvous final : public std::enable_shared_from_this<InprocRendezvous> {
 public:
  InprocRendezvous(int size, const InprocOptions& options);

  int size() const { return size_; }
  RankWaiter& waiter(int rank) { return waiters_[static_cast<std::size_t>(rank)]; }
  // Of now_nanos(), for a call that gives this time-out; 0 = none.
  std::int64_t deadline(std::chrono::nanoseconds timeout) const;

  // As Communicator's.
  void start(const CollectiveCall& call, const InprocPlace& place, Communicator::Done done);
  // The calling thread waits for the ranks, until the deadline, and helps with the work. `ready` is the call's; the event
  // as start()'s.
  Result<Event> run(const CollectiveCall& call, const InprocPlace& place, const Event& ready,
                    std::chrono::nanoseconds timeout, std::int64_t deadline_nanos);

  void abort(const Status& cause);
  Status cause() { return rounds_.cause(); }
  Status reset();
  // The step is over: backends do not cancel it any more.
  void disarm();

 private:
  using Round = InprocRound;

  // All calls are there. The calling thread is a user of the round; `helps`: it goes on with the work.
  void begin(Round& round, bool helps);
  void begin_in_host_memory(Round& round, bool helps);
  // On a device's communication stream.
  void share(Round& round, std::size_t slot);
  // The end, for every rank that is here. A device's stream that its link slows down says so itself.
  void finish(Round& round, Status status);
  void finish_one(Round& round, std::size_t slot);
  // Not before the links are done with it, for a rank that began at `start_nanos`; or until the group is aborted.
  void pace(const Round& round, std::int64_t start_nanos);

  void set_timer(std::int64_t round, std::size_t slot, std::chrono::nanoseconds timeout);
  void drop_timers(const std::vector<Timers::Token>& timers);
  // If the round still gathers: aborts the group.
  void give_up(std::int64_t round, std::size_t slot, std::chrono::nanoseconds timeout);

  const int size_;
  const InprocOptions options_;
  const bool may_spin_;  // a core for every rank
  std::vector<RankWaiter> waiters_;
  std::shared_ptr<StepAbort> step_abort_;  // null: no step
  InprocRounds rounds_;
};

}  // namespace argosy
