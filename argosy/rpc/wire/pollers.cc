#include "argosy/rpc/wire/pollers.h"

#include <chrono>
#include <system_error>

#include "argosy/base/check.h"
#include "argosy/base/clock.h"
#include "argosy/base/threads/parallel.h"

namespace argosy::tf {

namespace {

// Waking a thread costs about 10 us, during which one's own work waits: shorter work is not worth it.
constexpr std::int64_t kShortNanos = 100'000;
// A new team costs a twentieth of this.
constexpr std::int64_t kLongNanos = 1'000'000;
constexpr int kMostResting = 8;
// A thread that rests for so long ends; one stays. Each thread's heap keeps memory: threads that never end would add
// up.
constexpr std::chrono::seconds kLongestRest{1};
constexpr std::chrono::milliseconds kLook{1};
constexpr std::int64_t kQuietNanos = 100'000'000;

// Which worker this thread is: threads work for one Pollers only.
thread_local void* this_worker = nullptr;

}  // namespace

Pollers::Pollers(PollOne poll_one) : poll_one_(std::move(poll_one)) {
  watcher_ = std::thread([this] { watch(); });
  try {
    MutexLock lock(mutex_);
    put_poller();
  } catch (...) {  // no thread for the queue: the watching one ends, too
    {
      MutexLock lock(mutex_);
      over_ = true;
      watch_.notify_all();
    }
    watcher_.join();
    throw;
  }
}

Pollers::~Pollers() { ARGOSY_CHECK(!watcher_.joinable()); }

void Pollers::begin_work() {
  Worker& me = *static_cast<Worker*>(this_worker);
  const std::int64_t now = now_nanos();
  me.since.store(now, std::memory_order_relaxed);
  me.place.store(Place::kShort, std::memory_order_relaxed);
  last_event_.store(now, std::memory_order_relaxed);
  at_short_work_.store(&me);
  if (watching_.load()) return;
  MutexLock lock(mutex_);
  watching_.store(true);
  watch_.notify_one();
}

void Pollers::expect_duration(std::int64_t nanos) {
  if (nanos >= 0 && nanos < kShortNanos) return;
  Worker& me = *static_cast<Worker*>(this_worker);
  if (me.place.load(std::memory_order_relaxed) != Place::kShort) return;
  MutexLock lock(mutex_);
  replace(me);
}

// Its place at the queue goes to another, if it still has it.
void Pollers::replace(Worker& worker) {
  Place place = Place::kShort;
  if (!worker.place.compare_exchange_strong(place, Place::kAway)) return;
  Worker* gone = &worker;
  const bool was_short = at_short_work_.compare_exchange_strong(gone, nullptr);
  try {
    put_poller();
  } catch (const std::exception&) {  // there is nobody else for the queue: it goes back itself when its work is over
    worker.place.store(Place::kShort);
    Worker* none = nullptr;
    if (was_short) at_short_work_.compare_exchange_strong(none, &worker);
    throw;
  }
}

// Sends a thread to the queue: a resting one, or a new one.
void Pollers::put_poller() {
  if (resting_ > called_) {
    ++called_;
    wanted_.notify_one();
    return;
  }
  for (Worker* const worker : ended_) {
    worker->thread.join();  // it holds no lock any more
    workers_.remove_if([&](const Worker& w) { return &w == worker; });
  }
  ended_.clear();
  Worker& worker = workers_.emplace_back();
  try {
    worker.thread = std::thread([this, &worker] { work(worker); });
  } catch (const std::exception&) {
    workers_.pop_back();
    throw;
  }
}

// Waits until a thread is needed at the queue. False: the thread ends instead.
bool Pollers::rest() {
  if (resting_ >= kMostResting) return false;
  ++resting_;
  const auto enough = std::chrono::steady_clock::now() + kLongestRest;
  while (called_ == 0 && !over_) {
    if (resting_ == 1) {
      wanted_.wait(mutex_);
    } else if (!wanted_.wait_until(mutex_, enough) && called_ == 0 && resting_ > 1) {
      break;
    }
  }
  --resting_;
  if (called_ == 0) return false;
  --called_;
  return true;
}

void Pollers::work(Worker& me) {
  this_worker = &me;
  while (poll_one_(*this)) {
    Place place = Place::kShort;
    if (me.place.compare_exchange_strong(place, Place::kQueue) || place == Place::kQueue) {
      Worker* mine = &me;
      at_short_work_.compare_exchange_strong(mine, nullptr);
      continue;
    }
    // Another has taken over, and will be the one to compute the next step.
    if (now_nanos() - me.since.load(std::memory_order_relaxed) >= kLongNanos) release_omp_team();
    MutexLock lock(mutex_);
    if (me.place.load() == Place::kShort) {  // nobody could take over after all: back to the queue
      me.place.store(Place::kQueue);
      continue;
    }
    if (!rest()) break;
    me.place.store(Place::kQueue);
  }
  MutexLock lock(mutex_);
  if (me.place.load() != Place::kAway) {  // the queue is shut down
    over_ = true;
    wanted_.notify_all();
  }
  ended_.push_back(&me);
  ended_changed_.notify_all();
}

void Pollers::watch() {
  const Worker* seen = nullptr;
  std::int64_t seen_since = 0;
  MutexLock lock(mutex_);
  while (!over_) {
    if (!watching_.load()) {
      watch_.wait(mutex_);
      continue;
    }
    (void)watch_.wait_until(mutex_, std::chrono::steady_clock::now() + kLook);
    Worker* const now = at_short_work_.load();
    const std::int64_t since = now != nullptr ? now->since.load() : 0;
    try {
      if (now != nullptr && now == seen && since == seen_since) replace(*now);
    } catch (const std::exception&) {  // no thread to be had: the next look tries again
    }
    seen = now;
    seen_since = since;
    if (now_nanos() - last_event_.load() < kQuietNanos) continue;
    // A thread that begins short work now sees that there is no watcher, or is seen by the next line.
    watching_.store(false);
    if (at_short_work_.load() != nullptr) watching_.store(true);
  }
}

void Pollers::join() {
  {
    MutexLock lock(mutex_);
    while (ended_.size() < workers_.size() || !over_) ended_changed_.wait(mutex_);
    for (Worker& worker : workers_) worker.thread.join();
    workers_.clear();
    ended_.clear();
    watch_.notify_all();
  }
  if (watcher_.joinable()) watcher_.join();
}

int Pollers::threads() const {
  MutexLock lock(mutex_);
  return static_cast<int>(workers_.size() - ended_.size());
}

}  // namespace argosy::tf
