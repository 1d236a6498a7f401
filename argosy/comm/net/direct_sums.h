// DirectSums: sums of spanning groups that GPUs make among themselves, where all tasks can (NCCL).
//
//   a step's call, on its thread ──► start(): its turn comes ──► SpanningBackend::start()
//                                              │ the first time: all tasks tell what they have, and connect
//                                              └► not all have GPUs, the library and the wish: nothing, from then on
//
// Order. A library of GPUs wants one order of sums on all tasks, but steps make their calls in any order. Task 0 takes
// its calls as they come, and announces each by its tag. The other tasks follow. They ask for an announcement only while
// a call of their own waits, so nobody waits where nothing is to be done.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/comm/group_backend.h"
#include "argosy/comm/net/net_blobs.h"
#include "argosy/comm/net/net_engine.h"

namespace argosy {

// Thread-safe.
class DirectSums {
 public:
  // Both outlive this.
  DirectSums(NetEngine& engine, NetBlobs& blobs) : engine_(engine), blobs_(blobs) {}

  // A sum of one shard a rank: what could be made directly. Says the same on all tasks.
  static bool may_take(std::span<const CollectiveCall> calls, const SpanningRanks& ranks);

  // REQUIRES: may_take(). `calls`: those of this task's ranks, ascending. `backend`: what serves the memory of all their
  // tensors; null: none does. Blocks until the sum is enqueued, and returns its end by rank. No value: it must be made
  // another way, on all tasks. An error is one of the network or of the GPUs: the group is to be given up.
  Result<std::optional<std::vector<Event>>> start(std::span<const CollectiveCall> calls, const SpanningRanks& ranks,
                                                  GroupBackend* backend, std::uint32_t tag,
                                                  const std::shared_ptr<StepAbort>& step_abort);
  // Ends what GPUs have begun. From any thread.
  void abort(const Status& cause);

 private:
  // What the tasks have agreed on for one kind of sums: those of groups of one size, ordered or in any order.
  using Kind = std::pair<int, bool>;
  struct Agreed {
    bool without = false;                      // made another way from now on
    std::shared_ptr<SpanningBackend> backend;  // null: not connected yet
  };
  // Waits until it is this call's turn. False: its groups go without, and it has no turn.
  Result<bool> take_turn(std::uint32_t tag, Kind kind);
  void end_turn(const Status& status);
  Result<std::optional<std::vector<Event>>> in_turn(std::span<const CollectiveCall> calls, const SpanningRanks& ranks,
                                                    GroupBackend* backend,
                                                    const std::shared_ptr<StepAbort>& step_abort);
  // All tasks at once. Null: they go without.
  Result<std::shared_ptr<SpanningBackend>> connect(std::span<const CollectiveCall> calls, const SpanningRanks& ranks,
                                                   GroupBackend* backend);

  NetEngine& engine_;
  NetBlobs& blobs_;
  Mutex mutex_;
  CondVar changed_;
  std::map<Kind, Agreed> agreed_ ARGOSY_GUARDED_BY(mutex_);
  std::optional<std::uint32_t> turn_ ARGOSY_GUARDED_BY(mutex_);            // the tag whose turn it is
  bool listening_ ARGOSY_GUARDED_BY(mutex_) = false;                       // a call waits for an announcement
  bool at_work_ ARGOSY_GUARDED_BY(mutex_) = false;                         // a call has its turn
  std::shared_ptr<SpanningBackend> connecting_ ARGOSY_GUARDED_BY(mutex_);  // by the call that has its turn
  Status cause_ ARGOSY_GUARDED_BY(mutex_);                                 // ended by an error
};

}  // namespace argosy
