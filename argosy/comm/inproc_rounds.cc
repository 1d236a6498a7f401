#include "argosy/comm/inproc_rounds.h"

#include <algorithm>
#include <utility>

#include "argosy/base/clock.h"
#include "argosy/base/guard.h"
#include "argosy/base/str.h"
#include "argosy/base/threads/spin.h"

namespace argosy {

namespace {

// Ranks come and go together, and hold the lock for a tenth of a microsecond: falling asleep over it would take a
// hundred times that.
class ARGOSY_THREAD_ATTRIBUTE(scoped_lockable) BriefLock {
 public:
  explicit BriefLock(Mutex& mutex) ARGOSY_THREAD_ATTRIBUTE(acquire_capability(mutex))
      ARGOSY_THREAD_ATTRIBUTE(no_thread_safety_analysis)
      : mutex_(mutex) {
    for (int i = 0; i < 64; ++i) {
      if (mutex_.try_lock()) return;
      spin_pause();
    }
    mutex_.lock();
  }
  ~BriefLock() ARGOSY_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  BriefLock(const BriefLock&) = delete;
  BriefLock& operator=(const BriefLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace

std::size_t InprocRound::slot_of(const CollectiveCall& call, int rank) {
  if (call.kind == Collective::kSend) return 0;
  if (call.kind == Collective::kRecv) return 1;
  return static_cast<std::size_t>(rank);
}

int InprocRounds::key_of(const CollectiveCall& call, int rank) const {
  if (call.kind == Collective::kSend) return 1 + rank * size_ + call.peer;
  if (call.kind == Collective::kRecv) return 1 + call.peer * size_ + rank;
  return 0;
}

InprocRound* InprocRounds::find(std::int64_t id) {
  const auto round = std::find_if(gathering_.begin(), gathering_.end(), [id](const auto* r) { return r->id == id; });
  return round == gathering_.end() ? nullptr : *round;
}

InprocRound* InprocRounds::open_round(int key) {
  const auto idle = std::find_if(all_.begin(), all_.end(), [](const std::unique_ptr<InprocRound>& r) {
    return r->users.load(std::memory_order_acquire) == 0;
  });
  InprocRound& round = *(idle != all_.end() ? *idle : all_.emplace_back(std::make_unique<InprocRound>()));
  const std::size_t slots = key == 0 ? static_cast<std::size_t>(size_) : 2;
  round.key = key;
  round.id = next_id_++;
  round.arrived = 0;
  round.calls.resize(slots);
  round.entries.resize(slots);
  for (InprocRound::Entry& entry : round.entries) entry.here = false;
  round.timers.clear();
  round.status = {};
  round.ends.clear();
  round.link_seconds = 0;
  round.phase.store(InprocRound::kGathering, std::memory_order_relaxed);
  round.users.store(1, std::memory_order_relaxed);
  gathering_.push_back(&round);
  return &round;
}

void InprocRounds::set_users(InprocRound& round, int more) {
  for (const InprocRound::Entry& entry : round.entries) more += entry.here && entry.waits ? 1 : 0;
  round.users.store(more, std::memory_order_relaxed);
}

InprocRounds::Joined InprocRounds::join(const CollectiveCall& call, const InprocPlace& place, const Event& ready,
                                        Communicator::Done& done) {
  const int key = key_of(call, place.rank);
  const std::size_t slot = InprocRound::slot_of(call, place.rank);
  const BriefLock lock(mutex_);
  if (!cause_.ok()) return {};
  const auto open = std::find_if(gathering_.begin(), gathering_.end(),
                                 [&](const InprocRound* r) { return r->key == key && !r->entries[slot].here; });
  InprocRound* const round = open != gathering_.end() ? *open : open_round(key);
  CollectiveCall& mine = round->calls[slot];
  mine = call;
  mine.ready = ready;
  mine.rank = place.rank;
  mine.device = place.device;
  InprocRound::Entry& entry = round->entries[slot];
  entry.here = true;
  entry.waits = done == nullptr;
  entry.backend = place.backend;
  entry.done = std::move(done);
  const bool complete = ++round->arrived == round->entries.size();
  if (complete) {
    gathering_.erase(std::find(gathering_.begin(), gathering_.end(), round));
    set_users(*round, entry.waits ? 0 : 1);
  }
  return {round, round->id, complete};
}

bool InprocRounds::add_timer(std::int64_t id, Timers::Token token) {
  MutexLock lock(mutex_);
  InprocRound* const round = find(id);
  if (round != nullptr) round->timers.push_back(token);
  return round != nullptr;
}

std::string InprocRounds::late(std::int64_t id, std::size_t slot, std::chrono::nanoseconds timeout) {
  std::vector<std::string> missing, here;
  MutexLock lock(mutex_);
  const InprocRound* const round = find(id);
  if (round == nullptr) return {};
  for (std::size_t s = 0; s < round->entries.size(); ++s) {
    if (!round->entries[s].here) {
      // Of a message the other slot's call says who this is.
      missing.push_back(str_cat(round->key == 0 ? static_cast<int>(s) : round->calls[1 - s].peer));
    } else if (!round->calls[s].member.empty()) {
      here.push_back(str_cat("'", round->calls[s].member, "'"));
    }
  }
  return str_cat(round->calls[slot].describe(), ": after ", std::chrono::duration<double>(timeout).count(), " s ",
                 missing.size() == 1 ? "rank " : "ranks ", str_join(missing), " of ", size_, " had not come",
                 here.empty() ? "" : "; these have: ", str_join(here));
}

bool InprocRounds::close(const Status& cause, std::vector<InprocRound*>& gathering) {
  {
    MutexLock lock(mutex_);
    if (!cause_.ok()) return false;
    cause_ = copy_of(cause);
    closed_.store(true, std::memory_order_release);
    gathering.swap(gathering_);
    for (InprocRound* const round : gathering) set_users(*round, 1);
  }
  closed_changed_.notify_all();
  return true;
}

Status InprocRounds::cause() {
  if (!closed()) return {};
  MutexLock lock(mutex_);
  return cause_;
}

void InprocRounds::open() {
  MutexLock lock(mutex_);
  cause_ = {};
  closed_.store(false, std::memory_order_release);
}

void InprocRounds::sleep_until(std::int64_t nanos) {
  MutexLock lock(mutex_);
  while (cause_.ok()) {
    const std::int64_t left = nanos - now_nanos();
    if (left <= 0) return;
    closed_changed_.wait_until(mutex_, std::chrono::steady_clock::now() + std::chrono::nanoseconds(left));
  }
}

}  // namespace argosy
