#include "argosy/tf/session/pollers.h"

#include <chrono>

#include "argosy/base/check.h"
#include "argosy/base/clock.h"

namespace argosy::tf {

namespace {

// Waking a thread costs about 10 us, during which one's own work waits: shorter work is not worth it.
constexpr std::int64_t kShortNanos = 100'000;
constexpr int kMostResting = 8;
constexpr std::chrono::milliseconds kLook{1};
constexpr std::int64_t kQuietNanos = 100'000'000;

struct ThisThread {
  bool at_queue = true;
  std::int64_t since = 0;
};
thread_local ThisThread self;

}  // namespace

Pollers::Pollers(PollOne poll_one) : poll_one_(std::move(poll_one)) {
  {
    MutexLock lock(mutex_);
    put_poller();
  }
  watcher_ = std::thread([this] { watch(); });
}

Pollers::~Pollers() { ARGOSY_CHECK(!watcher_.joinable()); }

void Pollers::begin_work() {
  self.since = now_nanos();
  last_event_.store(self.since, std::memory_order_relaxed);
  short_since_.store(self.since);
  if (watching_.load()) return;
  MutexLock lock(mutex_);
  watching_.store(true);
  watch_.notify_one();
}

void Pollers::will_take(std::int64_t nanos) {
  if (!self.at_queue || (nanos >= 0 && nanos < kShortNanos)) return;
  std::int64_t mine = self.since;
  short_since_.compare_exchange_strong(mine, 0);
  MutexLock lock(mutex_);
  self.at_queue = false;
  if (at_queue_.fetch_sub(1) == 1) put_poller();
}

// One more at the queue: a resting thread, or a new one.
void Pollers::put_poller() {
  at_queue_.fetch_add(1);
  if (resting_ > called_) {
    ++called_;
    wanted_.notify_one();
    return;
  }
  std::vector<std::thread> gone;
  reap(gone);
  for (std::thread& thread : gone) thread.join();  // they hold no lock any more
  std::thread thread([this] { work(); });
  const std::thread::id id = thread.get_id();
  threads_.emplace(id, std::move(thread));
}

void Pollers::reap(std::vector<std::thread>& to) {
  for (const std::thread::id id : ended_) to.push_back(std::move(threads_.extract(id).mapped()));
  ended_.clear();
}

// Until somebody is needed at the queue; false: never.
bool Pollers::rest() {
  if (resting_ >= kMostResting) return false;
  ++resting_;
  while (called_ == 0 && !over_) wanted_.wait(mutex_);
  --resting_;
  if (called_ == 0) return false;
  --called_;
  return true;
}

void Pollers::work() {
  self = {};
  bool open = true;
  while (open) {
    open = poll_one_(*this);
    std::int64_t mine = self.since;
    if (self.at_queue) short_since_.compare_exchange_strong(mine, 0);
    if (open && self.at_queue && at_queue_.load(std::memory_order_relaxed) == 1) continue;
    MutexLock lock(mutex_);
    if (!open) {
      over_ = true;
      wanted_.notify_all();
      break;
    }
    if (!self.at_queue && at_queue_.load() == 0) {
      at_queue_.fetch_add(1);
    } else if (!self.at_queue || at_queue_.load() > 1) {
      if (self.at_queue) at_queue_.fetch_sub(1);
      if (!rest()) break;
    }
    self.at_queue = true;
  }
  MutexLock lock(mutex_);
  ended_.push_back(std::this_thread::get_id());
}

void Pollers::watch() {
  std::int64_t seen = 0, helped = 0;
  for (;;) {
    {
      MutexLock lock(mutex_);
      while (!watching_.load() && !over_) watch_.wait(mutex_);
      if (over_) return;
      (void)watch_.wait_until(mutex_, std::chrono::steady_clock::now() + kLook);
      if (over_) return;
      const std::int64_t since = short_since_.load();
      if (since != 0 && since == seen && since != helped) {
        put_poller();
        helped = since;
      }
      seen = since;
      if (since != 0 || now_nanos() - last_event_.load() < kQuietNanos) continue;
      // Whoever begins now sees that nobody watches, or is seen here.
      watching_.store(false);
      if (short_since_.load() != 0) watching_.store(true);
    }
  }
}

void Pollers::join() {
  for (;;) {
    std::vector<std::thread> gone;
    {
      MutexLock lock(mutex_);
      watch_.notify_all();
      for (auto& [id, thread] : threads_) gone.push_back(std::move(thread));
      threads_.clear();
      ended_.clear();
    }
    if (gone.empty()) break;
    for (std::thread& thread : gone) thread.join();
  }
  {
    MutexLock lock(mutex_);
    over_ = true;
    watch_.notify_all();
  }
  if (watcher_.joinable()) watcher_.join();
}

int Pollers::threads() const {
  MutexLock lock(mutex_);
  return static_cast<int>(threads_.size() - ended_.size());
}

}  // namespace argosy::tf
