#include "argosy/op/kernel/local_rendezvous.h"

#include <utility>
#include <vector>

namespace argosy {

namespace {

Status twice(const RendezvousKey& key, std::string_view what) {
  return internal_error("the value \"", key.to_string(), "\" was ", what, " twice in one step").with_id("ARG-SEND-002");
}

Status never_sent(const RendezvousKey& key) {
  return internal_error("the value \"", key.to_string(), "\" was not sent, and its task's part of the step has ended")
      .with_id("ARG-SEND-003")
      .with_hint("a loop or conditional that several tasks share ended otherwise on each: put it on one task");
}

}  // namespace

std::size_t LocalRendezvous::Hash::operator()(const RendezvousKey& key) const {
  const std::size_t edge = std::hash<std::string>()(key.edge);
  return (edge * 31 + static_cast<std::size_t>(key.frame)) * 31 + static_cast<std::size_t>(key.iteration);
}

LocalRendezvous::~LocalRendezvous() { abort(cancelled("the step is over")); }

// A key of a loop is forgotten with its value: there may be millions of them.
void LocalRendezvous::take(Items::iterator at) {
  if (at->first.frame != 0) {
    items_.erase(at);
  } else {
    at->second = {.state = Item::State::kTaken, .value = {}, .waiting = nullptr, .number = 0};
  }
}

Status LocalRendezvous::send(const RendezvousKey& key, Tensor value, bool dead) {
  Done waiting;
  {
    MutexLock lock(mutex_);
    if (!cause_.ok()) return cause_;
    const auto [at, fresh] = items_.try_emplace(key);
    Item& item = at->second;
    if (fresh) {
      item.value = {std::move(value), dead};
      return ok_status();
    }
    if (item.state != Item::State::kWanted) return twice(key, "sent");
    waiting = std::move(item.waiting);
    take(at);
  }
  waiting(Received{std::move(value), dead});
  return ok_status();
}

std::int64_t LocalRendezvous::receive_numbered(const RendezvousKey& key, Done done) {
  Result<Received> answer = Received();
  {
    MutexLock lock(mutex_);
    const auto at = items_.find(key);
    if (!cause_.ok()) {
      answer = Status(cause_);
    } else if (at == items_.end() && !ended_) {
      const std::int64_t number = next_++;
      items_[key] = {.state = Item::State::kWanted, .value = {}, .waiting = std::move(done), .number = number};
      return number;
    } else if (at == items_.end()) {
      answer = never_sent(key);
    } else if (at->second.state != Item::State::kSent) {
      answer = twice(key, "received");
    } else {
      answer = std::move(at->second.value);
      take(at);
    }
  }
  done(std::move(answer));
  return 0;
}

bool LocalRendezvous::cancel_receive(const RendezvousKey& key, std::int64_t number) {
  Done dropped;  // goes with no lock held
  MutexLock lock(mutex_);
  const auto at = items_.find(key);
  if (at == items_.end() || at->second.state != Item::State::kWanted || at->second.number != number) return false;
  dropped = std::move(at->second.waiting);
  items_.erase(at);
  return true;
}

std::vector<std::pair<RendezvousKey, Rendezvous::Done>> LocalRendezvous::take_waiting() {
  std::vector<std::pair<RendezvousKey, Done>> waiting;
  for (auto at = items_.begin(); at != items_.end();) {
    if (at->second.state == Item::State::kWanted) {
      waiting.emplace_back(at->first, std::move(at->second.waiting));
      at = items_.erase(at);
    } else {
      ++at;
    }
  }
  return waiting;
}

void LocalRendezvous::abort(Status cause) {
  std::vector<std::pair<RendezvousKey, Done>> waiting;
  Items dropped;  // values go with no lock held
  {
    MutexLock lock(mutex_);
    if (!cause_.ok()) return;
    cause_ = cause;
    waiting = take_waiting();
    dropped.swap(items_);
  }
  for (auto& [key, done] : waiting) done(Status(cause));
}

void LocalRendezvous::end_sends() {
  std::vector<std::pair<RendezvousKey, Done>> waiting;
  {
    MutexLock lock(mutex_);
    ended_ = true;
    waiting = take_waiting();
  }
  for (auto& [key, done] : waiting) done(never_sent(key));
}

}  // namespace argosy
