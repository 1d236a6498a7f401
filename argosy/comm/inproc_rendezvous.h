// InprocRendezvous: runs the collectives of an in-process group: waits for all ranks, starts the work, calls `done`.
// Internal to InprocGroup.
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
  // The deadline of a call with this time-out, on the clock of now_nanos(); 0 = none.
  std::int64_t deadline(std::chrono::nanoseconds timeout) const;

  // As Communicator::start().
  void start(const CollectiveCall& call, const InprocPlace& place, Communicator::Done done);
  // Blocking form of start(): the calling thread waits for the other ranks, until the deadline, and helps with the
  // work. `ready` belongs to the call. Returns the event that start() would give to `done`.
  Result<Event> run(const CollectiveCall& call, const InprocPlace& place, const Event& ready,
                    std::chrono::nanoseconds timeout, std::int64_t deadline_nanos);

  void abort(const Status& cause);
  Status cause() { return rounds_.cause(); }
  Status reset();
  // Called when the step is over: from then on backends do not cancel it.
  void disarm();

 private:
  using Round = InprocRound;

  // Starts the work. REQUIRES: all calls have arrived, and the calling thread is a user of the round. `helps`: the
  // calling thread itself works on the round afterwards.
  void begin(Round& round, bool helps);
  void begin_in_host_memory(Round& round, bool helps);
  // Works on the round's blocks on a device's communication stream.
  void share(Round& round, std::size_t slot);
  // The end, for every rank that is here. A device's stream that its link slows down says so itself.
  void finish(Round& round, Status status);
  void finish_one(Round& round, std::size_t slot);
  // Sleeps until the simulated links of a rank that began at `start_nanos` would have moved the data, or the group is
  // aborted.
  void pace(const Round& round, std::int64_t start_nanos);

  void set_timer(std::int64_t round, std::size_t slot, std::chrono::nanoseconds timeout);
  void drop_timers(const std::vector<Timers::Token>& timers);
  // Aborts the group if the round still waits for calls.
  void give_up(std::int64_t round, std::size_t slot, std::chrono::nanoseconds timeout);

  const int size_;
  const InprocOptions options_;
  const bool may_spin_;  // there is a core for every rank
  std::vector<RankWaiter> waiters_;
  std::shared_ptr<StepAbort> step_abort_;  // null: no step
  InprocRounds rounds_;
};

}  // namespace argosy
