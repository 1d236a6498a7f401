// Where the nodes of a collective group meet within one step. The last rank to come starts the exchange: nobody's
// thread waits for those who are late, and every rank's communication stream gets the exchanges in the same order.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/ops/collective/starting.h"

namespace argosy {

struct SumCall;

// Sums what all ranks brought and calls each of them back.
using Exchange = void (*)(std::vector<SumCall> calls, const std::string& group);

// One rank's part of a sum.
struct SumCall {
  int rank = 0, size = 1, total = 1;
  bool fixed_order = false;          // logical shards
  std::vector<std::int64_t> shards;  // whose contributions `values` holds, shard after shard
  std::vector<Tensor> values;
  std::vector<Tensor> sums;  // each apart from every value
  KernelContext* context = nullptr;
  AsyncKernel::Done done;
  // Of a rank whose kernels only start what they do: what it brings is there when `ready` is reached; `started` takes
  // the place of `done`; and `exchange` is that of the whole group.
  Event ready;
  StartingKernel::Started started;
  Exchange exchange = nullptr;

  // The end, with nothing started.
  void give_up(Status status) {
    if (started) return started(std::move(status));
    done(std::move(status));
  }
};

// What a node of _AllReduce is: read from its attributes.
class AllReduceNode {
 public:
  explicit AllReduceNode(const KernelInit& init);
  const std::string& group() const { return group_; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  bool fixed_order() const { return fixed_order_; }
  // With inputs, outputs and the context.
  Result<SumCall> call(KernelContext& c) const;
  // To where its group meets.
  void arrive(SumCall call) const;

 private:
  const std::string group_;
  const int rank_, size_;
  int total_;
  bool fixed_order_;
  std::vector<std::int64_t> shards_;
};

// A resource of the step, by the name of the group. Thread-safe.
class Meeting final : public Resource, public std::enable_shared_from_this<Meeting> {
 public:
  explicit Meeting(std::string group) : group_(std::move(group)) {}
  std::string describe() const override { return str_cat("Meeting of ", group_); }

  // Calls back once, from any thread: with an error as soon as the step is cancelled or the ranks do not fit together.
  void arrive(SumCall call);

 private:
  // The k-th time that a rank comes, it meets the others' k-th time.
  struct Round {
    std::vector<std::optional<SumCall>> calls;  // by rank
    int arrived = 0;
    Cancellation::Token token = 0;
    std::int64_t id = 0;
  };
  void cancel(std::int64_t round, const Status& reason);

  const std::string group_;
  Mutex mutex_;
  std::list<Round> rounds_ ARGOSY_GUARDED_BY(mutex_);
  std::int64_t next_round_ ARGOSY_GUARDED_BY(mutex_) = 0;
};

// Tensor by tensor, on this thread. All tensors lie in the host's memory.
Status sum_here(const std::vector<SumCall>& calls);

// Where every device's memory is the host's: small sums are done at once on this thread, others on the devices'
// communication streams.
void exchange(std::vector<SumCall> calls, const std::string& group);

}  // namespace argosy
