// The rendezvous of the nodes of a collective group within one step. The last rank to join starts the exchange: nobody's
// thread waits for those who are late, and every rank's communication stream gets the exchanges in the same order.
#pragma once

#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/base/threads/timers.h"
#include "argosy/comm/collective_job.h"
#include "argosy/ops/collective/async_launch_kernel.h"

namespace argosy {

struct CollectiveParticipant;

// Does what all ranks ask for with what they brought, and calls each of them back.
using Exchange = void (*)(std::vector<CollectiveParticipant> calls, const std::string& group);

// One rank's part in a collective.
struct CollectiveParticipant {
  Collective kind = Collective::kAllReduceShards;  // or kAllGather, kBroadcast
  Reduction reduction = Reduction::kSum;
  int rank = 0, size = 1, total = 1;
  int root = 0;                         // of a broadcast
  std::chrono::nanoseconds timeout{0};  // how long it waits for the others; 0: as long as the step lasts
  bool deterministic = false;           // logical shards
  std::vector<std::int64_t> shards;     // whose contributions `values` holds, shard after shard
  std::vector<Tensor> values;           // of a broadcast: the root's alone
  std::vector<Tensor> results;          // each apart from every value; of a broadcast: of all but the root
  KernelContext* context = nullptr;
  AsyncKernel::Done done;
  // Of a rank on an asynchronous device: what it brings is there when `ready` is reached; `started` takes
  // the place of `done`; and `exchange` is that of the whole group.
  Event ready;
  AsyncLaunchKernel::Started started;
  Exchange exchange = nullptr;

  // The end, with nothing started.
  void give_up(Status status) {
    if (started) return started(std::move(status));
    done(std::move(status));
  }
};

// What a node of a collective is: read from its op and its attributes.
class GroupNode {
 public:
  explicit GroupNode(const KernelInit& init);
  const std::string& group() const { return group_; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  bool deterministic() const { return deterministic_; }
  // With inputs, outputs and the context.
  Result<CollectiveParticipant> call(KernelContext& c) const;
  // Joins the rendezvous of its group.
  void join(CollectiveParticipant call) const;
  // What is to be divided by the number of ranks once it is there (means of sums are made at once).
  bool divides() const { return divides_; }

 private:
  Status reduce(KernelContext& c, CollectiveParticipant& call) const;
  Status gather(KernelContext& c, CollectiveParticipant& call) const;
  Status broadcast(KernelContext& c, CollectiveParticipant& call) const;

  const std::string op_, group_;
  const int rank_, size_;
  int total_ = 1, root_ = 0;
  bool grouped_ = true;  // by the pass resolve_collective_groups; else it must be alone
  Collective kind_ = Collective::kAllReduceShards;
  Reduction reduction_ = Reduction::kSum;
  bool divides_ = false;
  std::chrono::nanoseconds timeout_{0};
  bool deterministic_ = false;
  std::vector<std::int64_t> shards_;
  std::optional<PartialShape> shape_;  // of what a receiver gets, where an attribute says so
};

// A resource of the step, by the name of the group. Thread-safe.
class CollectiveRendezvous final : public Resource, public std::enable_shared_from_this<CollectiveRendezvous> {
 public:
  explicit CollectiveRendezvous(std::string group) : group_(std::move(group)) {}
  std::string describe() const override { return str_cat("CollectiveRendezvous of ", group_); }

  // Calls back once, from any thread: with an error as soon as the step is cancelled or the ranks do not fit together.
  void join(CollectiveParticipant call);

 private:
  // The k-th time that a rank joins, it meets the others' k-th time.
  struct Round {
    std::vector<std::optional<CollectiveParticipant>> calls;  // by rank
    int num_joined = 0;
    Cancellation::Token token = 0;
    std::int64_t id = 0;
    std::vector<Timers::Token> timers;  // of clock_
  };
  void cancel(std::int64_t round, const Status& reason);
  // The round gives up when the timeout of one who has come is at its end. Whoever it calls by then has what he wants.
  Status set_timer(ResourceManager& resources, std::int64_t round, std::chrono::nanoseconds timeout);
  void drop(const std::vector<Timers::Token>& timers);
  void give_up_waiting(std::int64_t round, std::chrono::nanoseconds timeout);

  const std::string group_;
  Mutex mutex_;
  std::list<Round> rounds_ ARGOSY_GUARDED_BY(mutex_);
  std::int64_t next_round_ ARGOSY_GUARDED_BY(mutex_) = 0;
  std::weak_ptr<Timers> clock_ ARGOSY_GUARDED_BY(mutex_);  // the device set's; once somebody's timeout has an end
};

// The calls, by rank, as one collective: what the tensors' own devices do not matter for.
class CollectiveCalls {
 public:
  // INVALID_ARGUMENT where the ranks' tensors do not fit together. `calls` must stay.
  static Result<CollectiveCalls> of(const std::vector<CollectiveParticipant>& calls, const std::string& group);
  std::span<const CollectiveCall> calls() const { return calls_; }

 private:
  std::vector<CollectiveCall> calls_;
  std::vector<std::vector<Shard>> shards_;  // by rank
};

// On this thread. All tensors lie in the host's memory.
Status do_here(const std::vector<CollectiveParticipant>& calls, const std::string& group);

// Where every device's memory is the host's: small collectives are done at once on this thread, others on the devices'
// communication streams.
void exchange(std::vector<CollectiveParticipant> calls, const std::string& group);

}  // namespace argosy
