// NcclGroup: NcclCollectives with its communicators, and the watchdog over them. Internal to argosy/comm/nccl.
#pragma once

#include <list>
#include <thread>

#include "argosy/comm/native_gpu/rank_streams.h"
#include "argosy/comm/nccl/nccl.h"
#include "argosy/device/cuda/links.h"

namespace argosy::cuda {

class NcclGroup final : public NcclCollectives {
 public:
  NcclGroup(std::shared_ptr<const Nccl> nccl, const std::vector<CudaDevice*>& devices, const NcclOptions& options);
  ~NcclGroup() override;

  int size() const override { return streams_.size(); }
  std::string describe() const override { return "NCCL " + nccl_->version_text(); }
  Result<std::vector<Event>> start(std::span<const CollectiveCall> calls,
                                   const std::shared_ptr<StepAbort>& step_abort) override;

 private:
  // A collective that was started and has not ended.
  struct Watched {
    std::string what;
    std::vector<Event> ready, ends;
    std::shared_ptr<StepAbort> step_abort;
    std::int64_t since_nanos = 0;  // when all of `ready` were reached; 0: not yet
  };

  std::string names() const;
  Status failure(std::string_view what, int result) const ARGOSY_REQUIRES(mutex_);
  Status connect() ARGOSY_REQUIRES(mutex_);
  // Grants every GPU with peer access the use of every rank's memory pool. NCCL's kernels access the buffers of other
  // ranks of the process by pointer.
  Status open_memories();
  Status try_out() ARGOSY_REQUIRES(mutex_);
  // Makes one NCCL group call: ncclGroupStart, the calls that `enqueue` makes, ncclGroupEnd.
  template <typename Enqueue>
  Status together(std::string_view what, const Enqueue& enqueue) ARGOSY_REQUIRES(mutex_);
  // Waits until NCCL has enqueued everything on the streams. If it does not within the time-out, drops the
  // communicators.
  Status settle(std::string_view what) ARGOSY_REQUIRES(mutex_);
  void drop_communicators() ARGOSY_REQUIRES(mutex_);
  int enqueue(int rank, std::span<const CollectiveCall> calls) ARGOSY_REQUIRES(mutex_);
  // Enqueues both calls of a message, in place of enqueue().
  int enqueue_message(int rank, const CollectiveCall& send, const CollectiveCall& recv) ARGOSY_REQUIRES(mutex_);
  // Registers a started collective with the watchdog. Returns its end events, by rank.
  Result<std::vector<Event>> watched(std::string what, std::span<const CollectiveCall> calls,
                                     const std::shared_ptr<StepAbort>& step_abort) ARGOSY_REQUIRES(mutex_);

  // nccl_watchdog.cc
  void watch();
  Status look_at(Watched& watched);
  void fail_all(const Status& cause);

  const std::shared_ptr<const Nccl> nccl_;
  const NcclOptions options_;
  RankStreams streams_;
  const std::shared_ptr<Links> links_;
  Mutex mutex_;
  std::vector<NcclComm> comms_ ARGOSY_GUARDED_BY(mutex_);
  CollectiveJob job_ ARGOSY_GUARDED_BY(mutex_);
  std::atomic<bool> failing_{false};  // the watchdog is failing everything: starts in progress must give up

  Mutex watch_mutex_;
  CondVar watch_changed_;
  std::list<Watched> under_way_ ARGOSY_GUARDED_BY(watch_mutex_);
  bool closing_ ARGOSY_GUARDED_BY(watch_mutex_) = false;
  std::thread watcher_;  // made with the first communicators
};

}  // namespace argosy::cuda
