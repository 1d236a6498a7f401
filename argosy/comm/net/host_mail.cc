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
  if (aborted_.exchange(true)) return;
  own_->end(Mailbox::Over::kAborted);
  own_->ring();
  ring_all();
}

Status HostMail::trouble(int task, bool waited) const {
  if (aborted_.load()) return lost("this task has given up");
  const Mailbox& box = *boxes_[static_cast<std::size_t>(task)];
  const Mailbox::Over over = box.over();
  if (over == Mailbox::Over::kAborted) return lost("task ", task, " has given up");
  if (over == Mailbox::Over::kEnded || (waited && box.process_ended())) return lost("task ", task, " has ended");
  return ok_status();
}

Status HostMail::sort() {
  for (std::size_t t = 0; t < boxes_.size(); ++t) {
    if (boxes_[t] == nullptr) continue;
    const int task = static_cast<int>(t);
    ARGOSY_RETURN_IF_ERROR(own_->take(task, [&](std::uint32_t tag, std::string message) ARGOSY_REQUIRES(mutex_) {
      come_[{task, tag}].push_back(std::move(message));
    }));
  }
  return ok_status();
}

Result<bool> HostMail::look(int task, std::uint32_t tag, void* message, std::size_t bytes) {
  MutexLock lock(mutex_);
  ARGOSY_RETURN_IF_ERROR(sort());
  const auto found = come_.find({task, tag});
  if (found == come_.end()) return false;
  const std::string come = std::move(found->second.front());
  found->second.pop_front();
  if (found->second.empty()) come_.erase(found);
  if (come.size() != bytes) return unreadable("task ", task, " sent ", come.size(), " bytes, not ", bytes);
  std::memcpy(message, come.data(), bytes);
  return true;
}

Status HostMail::send(int task, std::uint32_t tag, const void* message, std::size_t bytes) {
  Mailbox& box = *boxes_[static_cast<std::size_t>(task)];
  {
    MutexLock one_writer(sends_[static_cast<std::size_t>(task)]);
    const std::int64_t end = now_nanos() + std::chrono::nanoseconds(timeout_).count();
    while (!box.put(rank_, tag, message, bytes)) {
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

Status HostMail::receive(int task, std::uint32_t tag, void* message, std::size_t bytes) {
  const std::int64_t end = now_nanos() + std::chrono::nanoseconds(timeout_).count();
  Status over;
  for (bool waited = false;;) {
    const std::uint32_t bell = own_->bell();
    ARGOSY_ASSIGN_OR_RETURN(const bool came, look(task, tag, message, bytes));
    if (came) return ok_status();
    if (!over.ok()) return over;  // and what was written before has come
    over = trouble(task, waited);
    if (!over.ok()) continue;
    const std::int64_t left = end - now_nanos();
    if (left <= 0) return too_late("no message of task ", task);
    waited = !own_->wait(bell, std::min(left, kLookNanos));
  }
}

}  // namespace argosy
