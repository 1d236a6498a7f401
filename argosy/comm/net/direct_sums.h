// DirectSums: sums of spanning groups that GPUs make among themselves, where all tasks can (NCCL).
//
//   a step's call, on its thread ──► start(): its turn comes ──► SpanningBackend::start()
//                                              │ the first time: all tasks tell what they have, and connect
//                                              └► not all have GPUs, the library and the wish: nothing, from then on
//
// sum_turns.h has the order.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/comm/group_backend.h"
#include "argosy/comm/net/net_blobs.h"
#include "argosy/comm/net/net_engine.h"
#include "argosy/comm/net/sum_turns.h"

namespace argosy {

// Thread-safe.
class DirectSums {
 public:
  // Both outlive this.
  DirectSums(NetEngine& engine, NetBlobs& blobs) : engine_(engine), blobs_(blobs), turns_(engine) {}

  // A sum of one shard a rank: what could be made directly. Says the same on all tasks.
  static bool may_take(std::span<const CollectiveCall> calls, const SpanningRanks& ranks);

  // SumTurns::ticket().
  std::uint64_t ticket() { return turns_.ticket(); }

  // REQUIRES: may_take(). `calls`: those of this task's ranks, ascending. `backend`: what serves the memory of all their
  // tensors; null: none does. Blocks until the sum is enqueued, and returns its end by rank. No value: it must be made
  // another way, on all tasks. An error is one of the network or of the GPUs: the group is to be given up.
  Result<std::optional<std::vector<Event>>> start(std::span<const CollectiveCall> calls, const SpanningRanks& ranks,
                                                  GroupBackend* backend, std::uint32_t tag, std::uint64_t ticket,
                                                  const std::shared_ptr<StepAbort>& step_abort);
  // Ends what GPUs have begun. From any thread.
  void abort(const Status& cause);

 private:
  Result<std::optional<std::vector<Event>>> in_turn(std::span<const CollectiveCall> calls, const SpanningRanks& ranks,
                                                    GroupBackend* backend,
                                                    const std::shared_ptr<StepAbort>& step_abort);
  // All tasks at once. Null: they go without.
  Result<std::shared_ptr<SpanningBackend>> connect(std::span<const CollectiveCall> calls, const SpanningRanks& ranks,
                                                   GroupBackend* backend);

  NetEngine& engine_;
  NetBlobs& blobs_;
  SumTurns turns_;
  Mutex mutex_;
  // What the tasks have agreed on, by the kind of sums; null: made another way.
  std::map<SumKind, std::shared_ptr<SpanningBackend>> backends_ ARGOSY_GUARDED_BY(mutex_);
  std::shared_ptr<SpanningBackend> connecting_ ARGOSY_GUARDED_BY(mutex_);  // by the call that has its turn
};

}  // namespace argosy
