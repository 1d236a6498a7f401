#include "argosy/comm/net/host_mail.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "argosy/base/clock.h"
#include "argosy/comm/net/net_disagreement.h"

namespace argosy {

namespace {

constexpr std::int64_t kLookNanos = 50'000'000;  // how often a waiting task looks whether the other one lives

Status lost(const auto&... why) {
  return unavailable("exchange: a connection to another task is lost: ", why...)
      .with_id("ARG-COMM-025")
      .with_hint("the first cause is in the log of the task that ended first");
}

Status too_late(const auto&... what) {
  return deadline_exceeded("exchange: timed out: ", what...)
      .with_id("ARG-COMM-024")
      .with_hint("look at what the other tasks do: an earlier error, another program, or just slow work");
}

}  // namespace

HostMail::HostMail(int rank, int size, std::chrono::milliseconds timeout, std::unique_ptr<Mailbox> own)
    : rank_(rank),
      timeout_(timeout),
      own_(std::move(own)),
      boxes_(static_cast<std::size_t>(size)),
      sends_(std::make_unique<Mutex[]>(static_cast<std::size_t>(size))) {}

Result<std::unique_ptr<HostMail>> HostMail::make(int rank, int size, std::chrono::milliseconds timeout) {
  ARGOSY_ASSIGN_OR_RETURN(auto own, Mailbox::make(static_cast<std::size_t>(size)));
  return std::unique_ptr<HostMail>(new HostMail(rank, size, timeout, std::move(own)));
}

HostMail::~HostMail() {
  own_->end(Mailbox::Over::kEnded);
  ring_all();
}

bool HostMail::open(int task, const Mailbox::Address& address) {
  std::unique_ptr<Mailbox>& box = boxes_[static_cast<std::size_t>(task)];
  box = Mailbox::open(address, boxes_.size());
  return box != nullptr;
}

void HostMail::ring_all() const {
  for (const auto& box : boxes_) {
    if (box != nullptr) box->ring();
  }
}

void HostMail::abort() {
  own_->end(Mailbox::Over::kAborted);  // first: who sees `aborted_` may give memory back that others would read
  if (aborted_.exchange(true)) return;
  own_->ring();
  ring_all();
}

Status HostMail::trouble(int task, bool look) const {
  if (aborted_.load()) return lost("this task has given up");
  const Mailbox& box = *boxes_[static_cast<std::size_t>(task)];
  if (box.over() == Mailbox::Over::kNo && !(look && box.process_ended())) return ok_status();
  return lost("task ", task, " has ended");
}

Status HostMail::sort() {
  for (std::size_t t = 0; t < boxes_.size(); ++t) {
    if (boxes_[t] == nullptr) continue;
    const int task = static_cast<int>(t);
    ARGOSY_RETURN_IF_ERROR(
        own_->take(task, [&](std::uint32_t tag, Mailbox::Kind kind, std::string message) ARGOSY_REQUIRES(mutex_) {
          come_[{task, tag}].emplace_back(kind, std::move(message));
        }));
  }
  return ok_status();
}

Result<bool> HostMail::look(int task, std::uint32_t tag, Mailbox::Kind kind, void* message, std::size_t bytes) {
  MutexLock lock(mutex_);
  ARGOSY_RETURN_IF_ERROR(sort());
  const auto found = come_.find({task, tag});
  if (found == come_.end()) return false;
  const auto [came, text] = std::move(found->second.front());
  found->second.pop_front();
  if (found->second.empty()) come_.erase(found);
  if (came != kind || text.size() != bytes) {
    return unreadable("task ", task, " sent ", text.size(), " bytes of kind ", static_cast<int>(came), ", not ", bytes,
                      " of kind ", static_cast<int>(kind));
  }
  if (bytes > 0) std::memcpy(message, text.data(), bytes);
  return true;
}

Status HostMail::send(int task, std::uint32_t tag, Mailbox::Kind kind, const void* message, std::size_t bytes) {
  if (aborted_.load()) return lost("this task has given up");
  Mailbox& box = *boxes_[static_cast<std::size_t>(task)];
  {
    MutexLock one_writer(sends_[static_cast<std::size_t>(task)]);
    const std::int64_t end = now_nanos() + std::chrono::nanoseconds(timeout_).count();
    while (!box.put(rank_, tag, kind, message, bytes)) {
      {
        MutexLock lock(mutex_);
        ARGOSY_RETURN_IF_ERROR(sort());  // that task may wait for room, too
      }
      ARGOSY_RETURN_IF_ERROR(trouble(task, true));
      if (now_nanos() > end) return too_late("task ", task, " takes no message");
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  box.ring();
  return ok_status();
}

Status HostMail::receive(int task, std::uint32_t tag, Mailbox::Kind kind, void* message, std::size_t bytes) {
  const std::int64_t began = now_nanos(), end = began + std::chrono::nanoseconds(timeout_).count();
  std::int64_t next_look = began + kLookNanos;
  for (Status over;;) {
    const std::uint32_t bell = own_->bell();
    ARGOSY_ASSIGN_OR_RETURN(const bool came, look(task, tag, kind, message, bytes));
    if (came) return ok_status();
    if (!over.ok()) return over;  // and what was written before has come
    const std::int64_t now = now_nanos();
    const bool looks = now >= next_look;  // whoever rings the bell meanwhile
    if (looks) next_look = now + kLookNanos;
    over = trouble(task, looks);
    if (!over.ok()) continue;
    if (now >= end) return too_late("no message of task ", task);
    own_->wait(bell, std::min(end, next_look) - now);
  }
}

}  // namespace argosy
