// NcclGroup: NcclCollectives with its communicators, and the watchdog over them. Internal to argosy/comm/nccl.
//
// Its ranks are all of a group, or those of one task in a group over tasks. Then connect_tasks() makes the
// communicators, and once they are given up, they are for good: the job ends.
#pragma once

#include <algorithm>
#include <list>
#include <thread>

#include "argosy/comm/native_gpu/rank_streams.h"
#include "argosy/comm/nccl/nccl.h"
#include "argosy/comm/spanning_backend.h"
#include "argosy/device/cuda/links.h"

namespace argosy::cuda {

class NcclGroup final : public NcclCollectives {
 public:
  // `ranks`: this task's of a group over tasks; by default the devices are all of the group.
  NcclGroup(std::shared_ptr<const Nccl> nccl, const std::vector<CudaDevice*>& devices, const NcclOptions& options,
            const SpanningRanks& ranks = {.size = 0});
  ~NcclGroup() override;

  int size() const override { return streams_.size(); }
  std::string describe() const override { return "NCCL " + nccl_->version_text(); }
  Result<std::vector<Event>> start(std::span<const CollectiveCall> calls,
                                   const std::shared_ptr<StepAbort>& step_abort) override;
  // Makes the communicators of this task's ranks, and tries them out; all tasks at once, with one id. ARG-COMM-006.
  Status connect_tasks(const NcclId& id);
  // Ends what was started, with `cause`, and gives the communicators up, without a word. From any thread. Where it is
  // being done already, that goes on, and this returns at once.
  void fail_all(const Status& cause);

 private:
  // Numbers that add up exactly, on their way through NCCL.
  struct Trial {
    std::vector<Buffer> buffers;
    std::vector<Event> ends;
  };
  // A collective that was started and has not ended.
  struct Watched {
    std::string what;
    std::vector<Event> ready, ends;
    std::shared_ptr<StepAbort> step_abort;
    std::int64_t since_nanos = 0;  // when all of `ready` were reached; 0: not yet
  };

  std::string names() const;
  Status failure(std::string_view what, int result) const ARGOSY_REQUIRES(mutex_);
  // How long a sum may take, once what it waits for on this task is there.
  std::chrono::nanoseconds limit() const {
    return options_.timeout_is_asked ? options_.timeout : std::max(options_.timeout, ranks_.patience);
  }
  bool spans_tasks() const { return ranks_.size != size(); }
  Status connect() ARGOSY_REQUIRES(mutex_);
  Status make_communicators(const NcclId& id) ARGOSY_REQUIRES(mutex_);
  // Grants every GPU with peer access the use of every rank's memory pool. NCCL's kernels access the buffers of other
  // ranks of the process by pointer.
  Status open_memories();
  Status begin_trial(Trial& trial) ARGOSY_REQUIRES(mutex_);
  // Waits for the numbers, and looks at them: some machines bring wrong data from GPU to GPU.
  Status check_trial(const Trial& trial);
  // Makes one NCCL group call: ncclGroupStart, the calls that `enqueue` makes, ncclGroupEnd.
  template <typename Enqueue>
  Status together(std::string_view what, std::chrono::nanoseconds limit, const Enqueue& enqueue)
      ARGOSY_REQUIRES(mutex_);
  // Waits until NCCL has enqueued everything on the streams, at most for `limit`. After an error the communicators are
  // broken.
  Status settle(std::string_view what, std::chrono::nanoseconds limit) ARGOSY_REQUIRES(mutex_);
  // What is under way ends half done: fail_all() ends its steps first.
  void drop_communicators() ARGOSY_REQUIRES(mutex_);
  Result<std::vector<Event>> start_in_order(std::span<const CollectiveCall> calls,
                                            const std::shared_ptr<StepAbort>& step_abort) ARGOSY_REQUIRES(mutex_);
  int enqueue(int rank, std::span<const CollectiveCall> calls) ARGOSY_REQUIRES(mutex_);
  // Enqueues both calls of a message, in place of enqueue().
  int enqueue_message(int rank, const CollectiveCall& send, const CollectiveCall& recv) ARGOSY_REQUIRES(mutex_);
  // Registers a started collective with the watchdog. Returns its end events, by rank.
  Result<std::vector<Event>> watched(std::string what, std::span<const CollectiveCall> calls,
                                     const std::shared_ptr<StepAbort>& step_abort) ARGOSY_REQUIRES(mutex_);

  // nccl_watchdog.cc
  void watch();
  Status look_at(Watched& watched);

  const std::shared_ptr<const Nccl> nccl_;
  const NcclOptions options_;
  const SpanningRanks ranks_;
  RankStreams streams_;
  const std::shared_ptr<Links> links_;
  Mutex mutex_;
  std::vector<NcclComm> comms_ ARGOSY_GUARDED_BY(mutex_);
  CollectiveJob job_ ARGOSY_GUARDED_BY(mutex_);
  bool broken_ ARGOSY_GUARDED_BY(mutex_) = false;  // nothing more is asked of the communicators: fail_all() is to come
  std::atomic<bool> failing_{false};               // everything is being failed: starts in progress must give up
  std::atomic<bool> ended_{false};                 // over tasks: the communicators were given up

  Mutex watch_mutex_;
  CondVar watch_changed_;
  std::list<Watched> under_way_ ARGOSY_GUARDED_BY(watch_mutex_);
  bool closing_ ARGOSY_GUARDED_BY(watch_mutex_) = false;
  std::thread watcher_;  // made with the first communicators
};

}  // namespace argosy::cuda
