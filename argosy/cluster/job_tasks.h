// JobTasks: this process as one task of a job that runs the same program on every task (multi-controller). What training
// over hosts asks for. Made by join_job() of argosy/cluster/join_job.h; SingleTask stands for a job of one.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "argosy/base/status.h"
#include "argosy/cluster/key_value_store.h"

namespace argosy {

// One task as all others know it. A value type.
struct JobTask {
  int rank = 0;
  std::string host;                  // its name, for people
  std::string address;               // "host:port"; of task 0 where its coordinator listens, else port 0: nobody does
  std::uint64_t incarnation = 0;     // random, drawn when its process started
  std::vector<std::string> devices;  // what it trains on, by request name: "gpu:0"
};

// Thread-safe.
class JobTasks {
 public:
  virtual ~JobTasks() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual const std::vector<JobTask>& tasks() const = 0;  // by rank; the same on every task
  // The network interface's address by which this task reached the coordinator: what Gloo and NCCL are to use.
  virtual std::string local_address() const = 0;
  virtual KeyValueStore& store() = 0;
  // Waits for every task; `name` is used once. Errors: the cause of the job's end; DEADLINE_EXCEEDED names who is missing.
  virtual Status barrier(std::string_view name, std::chrono::milliseconds timeout) = 0;

  // Told to the coordinator with each heartbeat: where this task is. Never blocks.
  virtual void progress(std::int64_t step, std::string_view doing) = 0;
  // Asked with each heartbeat, from a thread of the job's: what this task waits for, that other tasks must do first
  // ("all-reduce_2"); "": nothing. Null: nobody is asked; returns once no call of the last one is under way.
  virtual void on_pulse(std::function<std::string()> waits) = 0;
  // The job's first cause; OK while it runs.
  virtual Status cause() = 0;
  // This task has failed: every task ends with the first such cause. Returns that cause.
  virtual Status fail(const Status& cause) = 0;
  // Called once, from any thread, when the job ends with an error: with its first cause. Register before training.
  virtual void on_abort(std::function<void(const Status& cause)> callback) = 0;
  // This task is done and leaves in order; its silence is no failure from now on.
  virtual Status leave() = 0;
};

}  // namespace argosy
