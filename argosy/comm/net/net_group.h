// NetGroup: a Communicator whose ranks are tasks of a job, one process each. Tensors are in the host's memory.
//
// Two ways in:
// * As a Communicator: the k-th call of a task meets the k-th of every other. What the tasks ask for is compared first,
//   which costs one message. Tasks that disagree all get one error, and the group goes on.
// * start_spanning(): a task's ranks of a larger group take part together, by a tag from the step's graph. What the tasks
//   ask for was compared when the step was made (strategy/tasks), and is not compared again.
//
// Calls run on threads of their own: no call waits behind another that some task makes later. The first error of the
// network, or abort(), ends the group: every call that waits, and every later one, returns that cause.
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
#include "argosy/comm/net/net_blobs.h"
#include "argosy/comm/net/net_engine.h"
#include "argosy/comm/net/net_scratch.h"
#include "argosy/comm/net/reduce_layout.h"

namespace argosy {

// What a group has moved so far.
struct NetUse {
  std::int64_t calls = 0;
  double seconds = 0;       // in which some call was on its way, waiting for other tasks included
  std::uint64_t bytes = 0;  // of the values, once each
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

  // What the thread of a collective does around it, where tensors are not in the host's memory. Null: nothing.
  struct Staging {
    std::function<Status(std::vector<CollectiveCall>&)> before = nullptr;
    std::function<Status()> after = nullptr;
  };
  // The calls of this task's ranks of one collective, ascending by rank. They and what they refer to stay until `done`.
  // Served: all_reduce_shards, reduce_scatter_shards and all_gather; others are UNIMPLEMENTED ARG-COMM-027.
  void start_spanning(std::vector<CollectiveCall> calls, Staging staging, std::uint32_t tag,
                      std::function<void(Status)> done);

  // Values of any shape from every task to all of them, in new host memory: the tasks' lists, one after another. Dtypes of
  // plain bytes only. The tag is one of start_spanning()'s.
  using Values = std::function<void(Result<std::vector<Tensor>>)>;
  void start_gather_values(std::vector<Tensor> own, std::uint32_t tag, Values done);
  // Texts of every task, by task. As a Communicator's call: compared by `name`.
  Result<std::vector<std::string>> gather_texts(const std::string& own, std::string_view name);

  NetUse use();
  // The name of the oldest call that is on its way for longer than this; "": none.
  std::string waits_longer_than(std::chrono::nanoseconds time);

 private:
  Status run_checked(const CollectiveCall& call, const CollectiveOptions& options) override;
  std::uint32_t tag_of(const CollectiveCall& call);
  // Counts the call, and makes an error of the engine the group's cause.
  Status counted(std::string_view name, std::uint64_t bytes, const std::function<Status()>& work);
  Status perform(const CollectiveCall& call, std::uint32_t tag);
  // What every task asks for is one collective; `own` is what is wrong with this task's call.
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
  // Sizes of every task, by task: as many each as `own`, this task's, and none negative or above 2^46.
  Result<std::vector<std::int64_t>> parts_of(const std::vector<std::int64_t>& own, std::uint32_t tag);
  Result<std::vector<Tensor>> gather_values(std::span<const Tensor> own, std::uint32_t tag);
  void on_thread(std::function<Status()> work, std::function<void(Status)> done);

  const std::unique_ptr<NetEngine> engine_;
  NetScratch scratch_;
  NetBlobs blobs_;
  std::atomic<std::uint32_t> next_tag_{0};
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
  BlockingPool threads_;  // the last: its threads use the rest
};

}  // namespace argosy
