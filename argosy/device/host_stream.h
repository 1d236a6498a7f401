// HostStream: a stream of a device in host memory (every backend but CUDA): a queue, and a thread that the first task
// starts.
//
// An idle stream spins on its queue for a moment before it sleeps. So a task from a core that is awake starts within a
// microsecond. The destructor finishes the queue. When the system has no thread left, tasks run on the threads that
// push them, still one after another.
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
    int thread_budget = 1;  // argosy/base/threads/parallel.h
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
  // The queue is a list; producers append without a lock. first_ is the node consumed last: the consumer reads its
  // `next`. So a hand-over moves two cache lines and no more.
  struct Node {
    std::atomic<Node*> next{nullptr};
    Item item;
  };

  void push(Item item);
  void start_thread();
  void serve();
  // REQUIRES: one caller at a time.
  bool pop(Item* item);
  void execute(Item& item);
  void drain_here();

  const Options options_;

  // Written by the consumer.
  alignas(64) Node* first_;
  std::atomic<std::int64_t> executed_{0};
  // Written by the producers.
  alignas(64) std::atomic<Node*> last_;
  std::atomic<std::int64_t> pushed_{0};
  // Rarely written.
  enum Serving : int { kNobody, kThread, kCallers };
  alignas(64) std::atomic<int> serving_{kNobody};
  std::atomic<bool> asleep_{false};
  std::atomic<bool> closing_{false};
  std::atomic<bool> draining_{false};  // one of the callers serves

  Mutex mutex_;
  CondVar wake_;
  Status error_ ARGOSY_GUARDED_BY(mutex_);
  std::thread thread_ ARGOSY_GUARDED_BY(mutex_);
};

// The three streams of a device in host memory.
struct HostStreams {
  // `device` begins the threads' names: "gpu:0".
  HostStreams(const std::string& device, int thread_budget, const HostStream::Copy& copy)
      : compute({device + " compute", thread_budget, copy}),
        copies({device + " copy", thread_budget, copy}),
        communication({device + " comm", thread_budget, copy}) {}
  // Waits for all three; returns the first error.
  Status synchronize();

  HostStream compute, copies, communication;
};

}  // namespace argosy
