// A stream in host memory: a queue and a thread that is started by the first task. What every backend but CUDA uses.
//
// An idle stream looks at its queue for a moment before it sleeps, so that a task from a core that is awake starts
// within a microsecond. Going away it finishes its queue first. Where the system has no thread left, tasks run on the
// threads that bring them, still one after another.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/device/device.h"
#include "argosy/device/event.h"

namespace argosy {

class HostStream final : public Stream {
 public:
  using Copy = std::function<Status(const Buffer& to, const Buffer& from)>;
  struct Options {
    std::string name;       // of the thread: "gpu:0 compute"
    int thread_budget = 1;  // argosy/base/parallel.h
    Copy copy = nullptr;    // called on the thread, sizes checked; null = copy_memory
  };

  explicit HostStream(Options options);
  // Must not run on the stream's own thread.
  ~HostStream() override;

  void run(Task task) override;
  // Where `to` is smaller than `from`, INVALID_ARGUMENT surfaces in synchronize().
  void copy(const Buffer& to, const Buffer& from) override;
  Event record() override;
  void wait(const Event& event) override;
  Status synchronize() override;

 private:
  struct Item {
    Task task;                            // or, where empty:
    std::shared_ptr<Event::State> event;  // to wait for, or to reach
    bool reach = false;
  };

  void push(Item item);
  void serve();
  // One batch; the batch's capacity goes round, so that a steady queue allocates nothing.
  void execute(std::vector<Item>& batch);
  void drain_here() ARGOSY_EXCLUDES(mutex_);

  const Options options_;
  std::atomic<int> queued_{0};  // the awake wait looks at this alone
  std::atomic<bool> closing_{false};

  Mutex mutex_;
  CondVar wake_;
  std::vector<Item> queue_ ARGOSY_GUARDED_BY(mutex_);
  Status error_ ARGOSY_GUARDED_BY(mutex_);
  bool asleep_ ARGOSY_GUARDED_BY(mutex_) = false;
  bool busy_ ARGOSY_GUARDED_BY(mutex_) = false;  // a batch is being executed
  bool no_thread_ ARGOSY_GUARDED_BY(mutex_) = false;
  std::thread thread_ ARGOSY_GUARDED_BY(mutex_);
};

// The three streams of a device in host memory.
struct HostStreams {
  // `device` begins the threads' names: "gpu:0".
  HostStreams(const std::string& device, int thread_budget, const HostStream::Copy& copy)
      : compute({device + " compute", thread_budget, copy}),
        copies({device + " copy", thread_budget, copy}),
        communication({device + " comm", thread_budget, copy}) {}
  // All of them; the first error.
  Status synchronize();

  HostStream compute, copies, communication;
};

}  // namespace argosy
