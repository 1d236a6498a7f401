// For tests: a job whose tasks are threads, and whose JobTasks needs no coordinator.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/cluster/in_memory_store.h"
#include "argosy/cluster/job_tasks.h"

namespace argosy {

// The state that the tasks of a job share.
class TestJob {
 public:
  explicit TestJob(int size) {
    for (int rank = 0; rank < size; ++rank) tasks_.push_back({.rank = rank, .host = str_cat("host-", rank)});
  }
  const std::vector<JobTask>& tasks() const { return tasks_; }
  InMemoryStore& store() { return store_; }
  Status cause() {
    MutexLock lock(mutex_);
    return cause_;
  }
  Status fail(const Status& status) {
    std::vector<std::function<void(const Status&)>> callbacks;
    {
      MutexLock lock(mutex_);
      if (!cause_.ok()) return cause_;
      cause_ = status;
      callbacks = callbacks_;
    }
    store_.abort(status);
    for (const auto& callback : callbacks) callback(status);
    return status;
  }
  void on_abort(std::function<void(const Status&)> callback) {
    MutexLock lock(mutex_);
    callbacks_.push_back(std::move(callback));
  }

 private:
  std::vector<JobTask> tasks_;
  InMemoryStore store_;
  Mutex mutex_;
  Status cause_ ARGOSY_GUARDED_BY(mutex_);
  std::vector<std::function<void(const Status&)>> callbacks_ ARGOSY_GUARDED_BY(mutex_);
};

class TestTask final : public JobTasks {
 public:
  TestTask(TestJob& job, int rank) : job_(job), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(job_.tasks().size()); }
  const std::vector<JobTask>& tasks() const override { return job_.tasks(); }
  std::string local_address() const override { return "127.0.0.1"; }
  KeyValueStore& store() override { return job_.store(); }
  Status barrier(std::string_view name, std::chrono::milliseconds timeout) override {
    ARGOSY_RETURN_IF_ERROR(store().put(str_cat("barrier/", name, "/", rank_), "here"));
    for (int rank = 0; rank < size(); ++rank) {
      ARGOSY_RETURN_IF_ERROR(store().get(str_cat("barrier/", name, "/", rank), timeout).status());
    }
    return ok_status();
  }
  void progress(std::int64_t, std::string_view) override {}
  void on_pulse(std::function<std::string()>) override {}
  Status cause() override { return job_.cause(); }
  Status fail(const Status& cause) override { return job_.fail(cause); }
  void on_abort(std::function<void(const Status&)> callback) override { job_.on_abort(std::move(callback)); }
  Status leave() override { return ok_status(); }

 private:
  TestJob& job_;
  const int rank_;
};

// Runs `body` as each task, on a thread of its own.
inline void run_job(int size, const std::function<void(JobTasks&)>& body) {
  TestJob job(size);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      TestTask task(job, rank);
      body(task);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace argosy
