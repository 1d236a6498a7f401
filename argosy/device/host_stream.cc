#include "argosy/device/host_stream.h"

#include <pthread.h>

#include <system_error>

#include "argosy/base/log.h"
#include "argosy/base/parallel.h"
#include "argosy/base/spin.h"
#include "argosy/device/copy.h"

namespace argosy {

HostStream::HostStream(Options options) : options_(std::move(options)) {}

HostStream::~HostStream() {
  std::thread thread;
  {
    MutexLock lock(mutex_);
    closing_.store(true, std::memory_order_release);
    thread = std::move(thread_);
    wake_.notify_one();
  }
  if (thread.joinable()) {
    ARGOSY_CHECK(thread.get_id() != std::this_thread::get_id());
    thread.join();
  }
}

void HostStream::run(Task task) { push({std::move(task), nullptr, false}); }

void HostStream::copy(const Buffer& to, const Buffer& from) {
  run([this, to, from] {
    Status status;
    if (to.bytes() < from.bytes()) {
      status = invalid_argument("copy of ", from.bytes(), " B into a buffer of ", to.bytes(), " B")
                   .with_where("stream " + options_.name);
    } else if (options_.copy) {
      status = options_.copy(to, from);
    } else {
      copy_memory(to.data(), from.data(), from.bytes());
    }
    if (status.ok()) return;
    MutexLock lock(mutex_);
    if (error_.ok()) error_ = std::move(status);
  });
}

Event HostStream::record() {
  {
    MutexLock lock(mutex_);
    if (queue_.empty() && !busy_) return {};
  }
  auto state = std::make_shared<Event::State>();
  push({nullptr, state, true});
  return Event(std::move(state));
}

void HostStream::wait(const Event& event) {
  if (event.state() == nullptr || event.state()->reached()) return;
  push({nullptr, event.state(), false});
}

Status HostStream::synchronize() {
  const Event end = record();
  if (end.state() != nullptr) end.state()->wait();
  MutexLock lock(mutex_);
  return std::exchange(error_, ok_status());
}

void HostStream::push(Item item) {
  {
    MutexLock lock(mutex_);
    queue_.push_back(std::move(item));
    queued_.fetch_add(1, std::memory_order_release);
    if (!no_thread_) {
      if (!thread_.joinable()) {
        try {
          thread_ = std::thread([this] { serve(); });
          return;
        } catch (const std::system_error& e) {
          ARGOSY_LOG(kWarning, "no thread for stream ", options_.name, " (", e.what(), "): its callers run its tasks");
          no_thread_ = true;
        }
      } else {
        if (asleep_) wake_.notify_one();
        return;
      }
    }
    if (busy_) return;  // whoever executes will find it
    busy_ = true;
  }
  drain_here();
}

void HostStream::serve() {
  pthread_setname_np(pthread_self(), options_.name.substr(0, 15).c_str());
  set_thread_budget(options_.thread_budget);
  std::vector<Item> batch;
  while (true) {
    {
      MutexLock lock(mutex_);
      batch.swap(queue_);
      queued_.store(0, std::memory_order_relaxed);
      busy_ = !batch.empty();
      if (!busy_ && closing_.load(std::memory_order_acquire)) return;
    }
    if (!batch.empty()) {
      execute(batch);
      continue;
    }
    if (spin_until([this] {
          return queued_.load(std::memory_order_acquire) > 0 || closing_.load(std::memory_order_acquire);
        })) {
      continue;
    }
    MutexLock lock(mutex_);
    while (queue_.empty() && !closing_.load(std::memory_order_acquire)) {
      asleep_ = true;
      wake_.wait(mutex_);
      asleep_ = false;
    }
  }
}

void HostStream::execute(std::vector<Item>& batch) {
  for (Item& item : batch) {
    if (item.task) {
      item.task();
    } else if (item.reach) {
      item.event->reach();
    } else {
      item.event->wait();
    }
    item = {};  // what a task holds goes with it, not with the batch
  }
  batch.clear();
}

void HostStream::drain_here() {
  std::vector<Item> batch;
  while (true) {
    {
      MutexLock lock(mutex_);
      if (queue_.empty()) {
        busy_ = false;
        return;
      }
      batch.swap(queue_);
      queued_.store(0, std::memory_order_relaxed);
    }
    execute(batch);
  }
}

Status HostStreams::synchronize() {
  Status first = compute.synchronize();
  for (HostStream* stream : {&copies, &communication}) {
    Status status = stream->synchronize();
    if (first.ok()) first = std::move(status);
  }
  return first;
}

}  // namespace argosy
