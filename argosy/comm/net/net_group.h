// NetGroup: a Communicator whose ranks are tasks of a job, one process each. Tensors are in the host's memory.
//
// Two ways in:
// * As a Communicator: the k-th call of a task meets the k-th of every other. The tasks first compare their calls,
//   which costs one message. If the calls differ, all tasks get the same error, and the group stays usable.
// * start_spanning(): the ranks of a larger group that are on this task take part together. A tag from the step's graph
//   names the collective. The calls were compared when the step was made (strategy/tasks), and are not compared again.
//
// Each started call has its own thread, so tasks may make the calls of different tags in different orders. The first
// error of the network, or abort(), ends the group: every waiting call, and every later one, returns that cause.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/base/threads/blocking_pool.h"
#include "argosy/comm/communicator.h"
#include "argosy/comm/net/direct_sums.h"
#include "argosy/comm/net/net_blobs.h"
#include "argosy/comm/net/net_engine.h"
#include "argosy/comm/net/net_scratch.h"
#include "argosy/comm/net/reduce_layout.h"

namespace argosy {

// Traffic of a group so far.
struct NetUse {
  std::int64_t calls = 0;
  double seconds = 0;       // during which at least one call was in progress, waits for other tasks included
  std::uint64_t bytes = 0;  // of the calls' values, each counted once
};

// Thread-safe.
class NetGroup final : public Communicator {
 public:
  explicit NetGroup(std::unique_ptr<NetEngine> engine);
  // Ends the calls that still wait, and waits for their threads.
  ~NetGroup() override;

  int rank() const override { return engine_->rank(); }
  int size() const override { return engine_->size(); }
  void start(const CollectiveCall& call, Done done) override;
  void abort(Status cause) override;
  Status cause();

  // Where the tensors of a spanning collective are.
  struct Spanning {
    SpanningRanks ranks = {};
    // Copies around a collective whose tensors are not in host memory; its thread makes them. Null: none.
    std::function<Status(std::vector<CollectiveCall>&)> before = nullptr;
    std::function<Status()> after = nullptr;
    // What serves the memory of all the tensors, and could sum them without those copies; null: nothing.
    GroupBackend* backend = nullptr;
    std::shared_ptr<StepAbort> step_abort = nullptr;  // null: no step
  };
  // Gets an event by rank, or none where all is over.
  using SpanningDone = std::function<void(Result<std::vector<Event>>)>;
  // Starts a collective of a spanning group. `calls`: those of this task's ranks, ascending by rank. What they refer to
  // must stay valid until `done`, and the tensors until its events. UNIMPLEMENTED ARG-COMM-027: a kind other than
  // all_reduce_shards, reduce_scatter_shards and all_gather.
  void start_spanning(std::vector<CollectiveCall> calls, Spanning spanning, std::uint32_t tag, SpanningDone done);

  // All-gather of tensors of any shape and plain dtype. The result is the tasks' lists, one after another, in new host
  // memory. `tag` is from the same set as start_spanning()'s.
  using Values = std::function<void(Result<std::vector<Tensor>>)>;
  void start_gather_values(std::vector<Tensor> own, std::uint32_t tag, Values done);
  // Returns the strings of all tasks, by task. It counts as a call of the Communicator; the tasks compare `name`.
  Result<std::vector<std::string>> gather_texts(const std::string& own, std::string_view name);

  NetUse use();
  // The name of the oldest call that has been in progress for longer than `time`; "": none.
  std::string waits_longer_than(std::chrono::nanoseconds time);

 private:
  Status run_checked(const CollectiveCall& call, const CollectiveOptions& options) override;
  std::uint32_t tag_of(const CollectiveCall& call);
  // Counts the call, and makes an error of the engine the group's cause.
  Status counted(std::string_view name, std::uint64_t bytes, const std::function<Status()>& work);
  Status perform(const CollectiveCall& call, std::uint32_t tag);
  // Checks that all tasks make the same call. `own`: the error of this task's call, or OK.
  Status agree(const CollectiveCall& call, const Status& own, std::uint32_t tag);
  Status serve(std::span<const CollectiveCall> calls, std::uint32_t tag, bool spanning);
  Status all_reduce_ranks(const CollectiveCall& call, std::span<const Tensor> out, std::uint32_t tag);
  Status reduce_shards(std::span<const CollectiveCall> calls, std::span<const std::span<const Tensor>> outs,
                       std::uint32_t tag, bool spanning);
  Status scatter_sums(std::span<const CollectiveCall> calls, std::uint32_t tag, bool spanning);
  Status gather(std::span<const CollectiveCall> calls, std::uint32_t tag);
  Status exchange_all(const CollectiveCall& call, std::uint32_t tag);
  Status message(const CollectiveCall& call, std::uint32_t tag);
  Result<ReduceLayout> layout_of(const std::vector<int>& own, int total, std::uint32_t tag, bool spanning);
  // Gathers the sizes of all tasks, by task. Each task gives as many as `own`. Checks that each is in [0, 2^46].
  Result<std::vector<std::int64_t>> parts_of(const std::vector<std::int64_t>& own, std::uint32_t tag);
  Result<std::vector<Tensor>> gather_values(std::span<const Tensor> own, std::uint32_t tag);
  // `first` runs on this thread, in the order in which the threads begin. Null: nothing.
  void on_thread(std::function<Status()> work, std::function<void(Status)> done,
                 const std::function<void()>& first = nullptr);

  const std::unique_ptr<NetEngine> engine_;
  NetScratch scratch_;
  NetBlobs blobs_;
  DirectSums direct_;
  std::atomic<std::uint32_t> next_tag_{0};
  Mutex order_;  // in which threads begin
  std::atomic<bool> inside_{false};
  Mutex mutex_;
  Status cause_ ARGOSY_GUARDED_BY(mutex_);
  std::map<int, std::uint32_t> messages_ ARGOSY_GUARDED_BY(mutex_);          // by peer, and direction
  std::map<std::uint32_t, ReduceLayout> layouts_ ARGOSY_GUARDED_BY(mutex_);  // of spanning reductions, by tag
  NetUse use_ ARGOSY_GUARDED_BY(mutex_);
  struct OnItsWay {
    std::string name;
    std::int64_t since = 0;
  };
  std::map<std::int64_t, OnItsWay> calls_ ARGOSY_GUARDED_BY(mutex_);  // by NetUse::calls when they began
  std::int64_t busy_since_ ARGOSY_GUARDED_BY(mutex_) = 0;
  BlockingPool threads_;  // declared last, destroyed first: its threads use the other members
};

}  // namespace argosy
