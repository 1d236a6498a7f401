// SumTurns: one order of sums on all tasks. Internal to argosy/comm/net.
//
// A library of GPUs wants one order of sums on all tasks, but steps make their calls in any order. Task 0 takes its calls
// in the order of their tickets, and announces each by its tag. The other tasks follow. They ask for an announcement only
// while a call of their own waits, so nobody waits where nothing is to be done.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "argosy/base/mutex.h"
#include "argosy/comm/net/net_engine.h"

namespace argosy {

// One kind of sums: those of groups of one size, ordered or in any order.
using SumKind = std::pair<int, bool>;

// Thread-safe.
class SumTurns {
 public:
  explicit SumTurns(NetEngine& engine) : engine_(engine) {}  // it outlives this

  // A call's place among those of this task. Taken as the call is made, on the thread that makes it.
  std::uint64_t ticket();
  // Waits until it is this call's turn, which end() ends. False: its kind has no turns any more. An error is the
  // network's, abort()'s, or that of a turn before.
  Result<bool> take(std::uint32_t tag, std::uint64_t ticket, SumKind kind);
  void end(const Status& status);
  // In a turn, on all tasks: calls of this kind have no turns from now on.
  void close(SumKind kind);
  void abort(const Status& cause);
  Status cause();

 private:
  Result<bool> announce(std::uint32_t tag, std::uint64_t ticket, SumKind kind);
  Result<bool> listen(std::uint32_t tag, SumKind kind);
  bool over(SumKind kind) const ARGOSY_REQUIRES(mutex_) { return !cause_.ok() || closed_.contains(kind); }

  NetEngine& engine_;
  Mutex mutex_;
  CondVar changed_;
  std::set<SumKind> closed_ ARGOSY_GUARDED_BY(mutex_);
  std::set<std::uint64_t> tickets_ ARGOSY_GUARDED_BY(mutex_);  // of calls that have not begun their turn
  std::uint64_t next_ticket_ ARGOSY_GUARDED_BY(mutex_) = 0;
  std::optional<std::uint32_t> turn_ ARGOSY_GUARDED_BY(mutex_);                 // the tag whose turn it is
  std::chrono::steady_clock::time_point turn_until_ ARGOSY_GUARDED_BY(mutex_);  // the tag's call is to come by then
  bool listening_ ARGOSY_GUARDED_BY(mutex_) = false;                            // a call waits for an announcement
  bool at_work_ ARGOSY_GUARDED_BY(mutex_) = false;                              // a call has its turn
  Status cause_ ARGOSY_GUARDED_BY(mutex_);                                      // ended by an error
};

}  // namespace argosy
