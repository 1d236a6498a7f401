#include "argosy/comm/inproc_rounds.h"

#include <algorithm>
#include <utility>

#include "argosy/base/clock.h"
#include "argosy/base/str.h"

namespace argosy {

std::size_t InprocRound::slot_of(const CollectiveCall& call) {
  if (call.kind == Collective::kSend) return 0;
  if (call.kind == Collective::kRecv) return 1;
  return static_cast<std::size_t>(call.rank);
}

void InprocRound::finish(const Status& status) {
  phase.store(kOver, std::memory_order_seq_cst);
  for (std::size_t s = 0; s < entries.size(); ++s) {
    const Entry& entry = entries[s];
    if (!entry.here) continue;
    if (status.ok() && link_seconds > 0 && !entry.waits && calls[s].device != nullptr) continue;
    finish_one(s, status.ok() ? Result<Event>(Event()) : Result<Event>(status));
  }
}

void InprocRound::finish_one(std::size_t slot, Result<Event> end) {
  const Communicator::Done done = std::exchange(entries[slot].done, nullptr);
  done(std::move(end));
}

int InprocRounds::key_of(const CollectiveCall& call) const {
  if (call.kind == Collective::kSend) return 1 + call.rank * size_ + call.peer;
  if (call.kind == Collective::kRecv) return 1 + call.peer * size_ + call.rank;
  return 0;
}

InprocRound* InprocRounds::find(std::int64_t id) {
  const auto round = std::find_if(gathering_.begin(), gathering_.end(), [id](const auto* r) { return r->id == id; });
  return round == gathering_.end() ? nullptr : *round;
}

InprocRound* InprocRounds::open_round(int key) {
  if (spare_.empty()) spare_.push_back(all_.emplace_back(std::make_unique<InprocRound>()).get());
  InprocRound* const round = spare_.back();
  spare_.pop_back();
  const std::size_t slots = key == 0 ? static_cast<std::size_t>(size_) : 2;
  round->key = key;
  round->id = next_id_++;
  round->arrived = 0;
  round->calls.resize(slots);
  round->entries.resize(slots);
  round->link_seconds = 0;
  round->phase.store(InprocRound::kGathering, std::memory_order_relaxed);
  gathering_.push_back(round);
  return round;
}

InprocRounds::Joined InprocRounds::join(const CollectiveCall& call, GroupBackend* backend, Communicator::Done& done,
                                        bool waits) {
  const int key = key_of(call);
  const std::size_t slot = InprocRound::slot_of(call);
  MutexLock lock(mutex_);
  if (!cause_.ok()) return {};
  const auto open = std::find_if(gathering_.begin(), gathering_.end(),
                                 [&](const InprocRound* r) { return r->key == key && !r->entries[slot].here; });
  InprocRound* const round = open != gathering_.end() ? *open : open_round(key);
  round->calls[slot] = call;
  round->entries[slot] = {.here = true, .waits = waits, .backend = backend, .done = std::move(done)};
  const bool complete = ++round->arrived == round->entries.size();
  if (complete) gathering_.erase(std::find(gathering_.begin(), gathering_.end(), round));
  round->users.fetch_add((waits ? 1 : 0) + (complete ? 1 : 0), std::memory_order_relaxed);
  return {round, round->id, complete};
}

void InprocRounds::leave(InprocRound& round) {
  if (round.users.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  for (CollectiveCall& call : round.calls) call.ready = {};
  for (InprocRound::Entry& entry : round.entries) entry.here = false;
  round.timers.clear();
  MutexLock lock(mutex_);
  spare_.push_back(&round);
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
    cause_ = cause;
    closed_.store(true, std::memory_order_release);
    gathering.swap(gathering_);
    for (InprocRound* const round : gathering) round->users.fetch_add(1, std::memory_order_relaxed);
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
