// JobTasks: this process as one task of a job that runs the same program on every task (multi-controller). Used by
// training over hosts. join_job() (argosy/cluster/join_job.h) makes it; SingleTask implements a job of one.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "argosy/base/status.h"
#include "argosy/cluster/key_value_store.h"

namespace argosy {

// A task, as the other tasks know it. A value type.
struct JobTask {
  int rank = 0;
  std::string host;                  // its name, for people
  std::string address;               // "host:port": task 0: where the coordinator listens; others: port 0
  std::uint64_t incarnation = 0;     // random, drawn when its process started
  std::vector<std::string> devices;  // the devices it trains on: "gpu:0"
};

// Thread-safe.
class JobTasks {
 public:
  virtual ~JobTasks() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual const std::vector<JobTask>& tasks() const = 0;  // by rank; the same on every task
  // The address of the network interface by which this task reached the coordinator. Gloo and NCCL should use it.
  virtual std::string local_address() const = 0;
  virtual KeyValueStore& store() = 0;
  // Waits for every task; each `name` is used once. Errors: the job's first cause; DEADLINE_EXCEEDED names the missing
  // tasks.
  virtual Status barrier(std::string_view name, std::chrono::milliseconds timeout) = 0;

  // Sets the progress of this task, which each heartbeat sends to the coordinator. Never blocks.
  virtual void progress(std::int64_t step, std::string_view doing) = 0;
  // Sets a callback that each heartbeat calls, from the job's thread. It returns what this task waits for that other
  // tasks must do ("all-reduce_2"); "": nothing. Null: no callback. Returns once no call of the previous callback is
  // running.
  virtual void on_pulse(std::function<std::string()> waits) = 0;
  // The job's first cause; OK while it runs.
  virtual Status cause() = 0;
  // Reports that this task has failed. Every task ends with the first cause, which this returns.
  virtual Status fail(const Status& cause) = 0;
  // Sets a callback that is called once, from any thread, with the first cause when the job ends with an error. Set it
  // before training.
  virtual void on_abort(std::function<void(const Status& cause)> callback) = 0;
  // Leaves the job in order. From then on missing heartbeats of this task are no failure.
  virtual Status leave() = 0;
};

}  // namespace argosy
