// JobMember: this task in a job of several tasks, once all have joined. It has two threads: one sends a heartbeat each
// second, one waits for the job's first cause.
#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "argosy/base/mutex.h"
#include "argosy/base/threads/cancellation.h"
#include "argosy/cluster/joining.h"

namespace argosy {

// Thread-safe.
class JobMember final : public JobTasks, private KeyValueStore {
 public:
  // `server`: the coordinator's, on task 0; else null.
  // Throws std::system_error where its threads cannot start.
  JobMember(JoinedJob job, int rank, std::chrono::milliseconds heartbeat, std::unique_ptr<CoordinatorServer> server);
  // If leave() was not called, the job ends with the error that this task is gone.
  ~JobMember() override;

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(job_.tasks.size()); }
  const std::vector<JobTask>& tasks() const override { return job_.tasks; }
  std::string local_address() const override { return job_.local_address; }
  KeyValueStore& store() override { return *this; }
  Status barrier(std::string_view name, std::chrono::milliseconds timeout) override;
  void progress(std::int64_t step, std::string_view doing) override;
  void on_pulse(std::function<std::string()> waits) override;
  Status cause() override;
  Status fail(const Status& cause) override;
  void on_abort(std::function<void(const Status& cause)> callback) override;
  Status leave() override;

 private:
  Status put(std::string_view key, std::string_view value) override;
  Result<std::string> get(std::string_view key, std::chrono::milliseconds timeout) override;

  void pulse_loop();
  void watch_loop();
  // Records the cause of the job's end. Later calls have no effect.
  void end_with(const Status& cause);
  Status lost_coordinator(std::string_view why) const;
  // Returns the job's cause for a call that the network ended. Waits 4 s for it; else returns `network_error`.
  Status cause_of(const Status& network_error);
  bool pulse_once(std::chrono::milliseconds timeout, Status& status);
  bool over() const;
  void stop();

  JoinedJob job_;
  const int rank_;
  const CallerId self_;
  const std::chrono::milliseconds heartbeat_;
  std::unique_ptr<CoordinatorServer> server_;
  Cancellation stopping_;  // cancels the calls of the two threads, when this task leaves
  Cancellation ended_;     // cancels the callers' calls, when the job has ended or this task leaves
  mutable Mutex mutex_;
  CondVar changed_;
  Status cause_ ARGOSY_GUARDED_BY(mutex_);
  std::function<void(const Status&)> callback_ ARGOSY_GUARDED_BY(mutex_);
  bool left_ ARGOSY_GUARDED_BY(mutex_) = false;
  Mutex waits_mutex_;  // held during a call of waits_
  std::function<std::string()> waits_ ARGOSY_GUARDED_BY(waits_mutex_);
  std::int64_t step_ ARGOSY_GUARDED_BY(mutex_) = 0;
  std::string doing_ ARGOSY_GUARDED_BY(mutex_);
  std::thread pulses_, watch_;
};

}  // namespace argosy
