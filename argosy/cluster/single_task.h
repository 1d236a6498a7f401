// SingleTask: a job of one task. It has no coordinator; its store is in memory.
#pragma once

#include "argosy/base/mutex.h"
#include "argosy/cluster/in_memory_store.h"
#include "argosy/cluster/job_tasks.h"

namespace argosy {

// Thread-safe.
class SingleTask final : public JobTasks {
 public:
  explicit SingleTask(std::vector<std::string> devices);

  int rank() const override { return 0; }
  int size() const override { return 1; }
  const std::vector<JobTask>& tasks() const override { return tasks_; }
  std::string local_address() const override { return "127.0.0.1"; }
  KeyValueStore& store() override { return store_; }
  Status barrier(std::string_view name, std::chrono::milliseconds timeout) override;
  void progress(std::int64_t, std::string_view) override {}
  void on_pulse(std::function<std::string()>) override {}
  Status cause() override {
    const MutexLock lock(mutex_);
    return cause_;
  }
  Status fail(const Status& cause) override;
  void on_abort(std::function<void(const Status& cause)> callback) override;
  Status leave() override { return ok_status(); }

 private:
  const std::vector<JobTask> tasks_;
  InMemoryStore store_;
  Mutex mutex_;
  Status cause_ ARGOSY_GUARDED_BY(mutex_);
  std::function<void(const Status&)> callback_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy
