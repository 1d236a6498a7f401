#include "argosy/device/host_stream.h"

#include <pthread.h>

#include <system_error>

#include "argosy/base/guard.h"
#include "argosy/base/log.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/base/threads/spin.h"
#include "argosy/device/copy.h"

namespace argosy {

namespace {
constexpr std::chrono::microseconds kLookAgain{50};
}  // namespace

HostStream::HostStream(Options options) : options_(std::move(options)), first_(new Node), last_(first_) {}

HostStream::~HostStream() {
  std::thread thread;
  {
    MutexLock lock(mutex_);
    closing_.store(true, std::memory_order_seq_cst);
    thread = std::move(thread_);
    wake_.notify_one();
  }
  if (thread.joinable()) {
    ARGOSY_CHECK(thread.get_id() != std::this_thread::get_id());
    thread.join();
  }
  delete first_;
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
  // Equal counts: everything pushed by now, and by this thread, is done.
  if (executed_.load(std::memory_order_acquire) == pushed_.load(std::memory_order_acquire)) return {};
  auto state = std::make_shared<Event::State>();
  push({nullptr, state, true});
  return Event(std::move(state));
}

void HostStream::wait(const Event& event) {
  if (event.state() == nullptr || event.state()->reached()) return;
  push({nullptr, event.state(), false});
}

Status HostStream::synchronize() {
  const std::int64_t pushed = pushed_.load(std::memory_order_acquire);
  try {
    const Event end = record();
    if (end.state() != nullptr) end.state()->wait();
  } catch (...) {  // no memory for an event; those who call this count on everything being done
    while (executed_.load(std::memory_order_acquire) < pushed) std::this_thread::sleep_for(kLookAgain);
  }
  MutexLock lock(mutex_);
  return std::exchange(error_, ok_status());
}

void HostStream::push(Item item) {
  auto made = std::make_unique<Node>();
  made->item = std::move(item);
  // Everything that may throw comes before the item is in the queue.
  if (serving_.load(std::memory_order_acquire) == kNobody) start_thread();
  Node* const node = made.release();
  pushed_.fetch_add(1, std::memory_order_acq_rel);
  Node* before = last_.exchange(node, std::memory_order_acq_rel);
  // Sequentially consistent, as are the load of asleep_ below and the consumer's store and load: no wake-up is lost.
  before->next.store(node, std::memory_order_seq_cst);
  if (serving_.load(std::memory_order_acquire) == kCallers) return drain_here();
  if (asleep_.load(std::memory_order_seq_cst)) {
    MutexLock lock(mutex_);
    wake_.notify_one();
  }
}

void HostStream::start_thread() {
  MutexLock lock(mutex_);
  if (serving_.load(std::memory_order_relaxed) != kNobody) return;
  try {
    thread_ = std::thread([this] { serve(); });
    serving_.store(kThread, std::memory_order_release);
  } catch (const std::system_error& e) {
    ARGOSY_LOG(kWarning, "no thread for stream ", options_.name, " (", e.what(), "): its callers run its tasks");
    serving_.store(kCallers, std::memory_order_release);
  }
}

bool HostStream::pop(Item* item) {
  Node* next = first_->next.load(std::memory_order_acquire);
  if (next == nullptr) return false;
  *item = std::move(next->item);
  delete std::exchange(first_, next);
  return true;
}

void HostStream::execute(Item& item) {
  Status thrown;
  if (item.task) {
    const CheckScope scope;
    try {
      item.task();
    } catch (...) {  // who waits for the stream is told, and whoever else the task's end is told by its last owner
      thrown = status_of_exception();
      internal::log_thrown(options_.name.c_str(), thrown);
      internal::set_thrown_by_task(copy_of(thrown));
    }
  } else if (item.reach) {
    item.event->reach();
  } else {
    item.event->wait();
  }
  item = {};  // what a task holds goes with it
  if (!thrown.ok()) [[unlikely]] {
    internal::set_thrown_by_task({});
    MutexLock lock(mutex_);
    if (error_.ok()) error_ = std::move(thrown);
  }
  executed_.store(executed_.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
}

void HostStream::serve() {
  pthread_setname_np(pthread_self(), options_.name.substr(0, 15).c_str());
  set_thread_budget(options_.thread_budget);
  Item item;
  const auto something = [this] {
    return first_->next.load(std::memory_order_seq_cst) != nullptr || closing_.load(std::memory_order_seq_cst);
  };
  while (true) {
    while (pop(&item)) execute(item);
    if (closing_.load(std::memory_order_seq_cst) && first_->next.load(std::memory_order_seq_cst) == nullptr) return;
    if (spin_until(something)) continue;
    MutexLock lock(mutex_);
    asleep_.store(true, std::memory_order_seq_cst);
    while (!something()) wake_.wait(mutex_);
    asleep_.store(false, std::memory_order_seq_cst);
  }
}

// One caller at a time executes the items of all callers. A caller that comes meanwhile may return at once.
void HostStream::drain_here() {
  const auto something = [this] {
    return executed_.load(std::memory_order_seq_cst) != pushed_.load(std::memory_order_seq_cst);
  };
  while (something() && !draining_.exchange(true, std::memory_order_seq_cst)) {
    Item item;
    while (pop(&item)) execute(item);
    draining_.store(false, std::memory_order_seq_cst);
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
