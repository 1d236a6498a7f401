#include "argosy/comm/net/sum_turns.h"

#include "argosy/base/guard.h"
#include "argosy/base/str.h"

namespace argosy {

namespace {

// A tag that neither steps nor NetGroup's own calls have; direct_sums.cc has two more.
constexpr std::uint32_t kTurns = 0x2000'0000;

}  // namespace

std::uint64_t SumTurns::ticket() {
  MutexLock lock(mutex_);
  tickets_.insert(next_ticket_);
  return next_ticket_++;
}

Result<bool> SumTurns::take(std::uint32_t tag, std::uint64_t ticket, SumKind kind) {
  Result<bool> mine = engine_.rank() == 0 ? announce(tag, ticket, kind) : listen(tag, kind);
  MutexLock lock(mutex_);
  tickets_.erase(ticket);
  changed_.notify_all();
  return mine;
}

Result<bool> SumTurns::announce(std::uint32_t tag, std::uint64_t ticket, SumKind kind) {
  {
    MutexLock lock(mutex_);
    while (!over(kind) && (at_work_ || *tickets_.begin() != ticket)) changed_.wait(mutex_);
    ARGOSY_RETURN_IF_ERROR(copy_of(cause_));
    if (closed_.contains(kind)) return false;
    at_work_ = true;
  }
  Status sent = engine_.broadcast(reinterpret_cast<std::byte*>(&tag), sizeof tag, 0, kTurns);
  if (sent.ok()) return true;
  end(sent);
  return sent;
}

Result<bool> SumTurns::listen(std::uint32_t tag, SumKind kind) {
  MutexLock lock(mutex_);
  while (!over(kind)) {
    if (turn_ == tag && !at_work_) {
      at_work_ = true;
      return true;
    }
    if (listening_ || at_work_) {  // who listens, or works, has a limit of its own
      changed_.wait(mutex_);
    } else if (turn_) {  // that of a call that has not come yet
      if (!changed_.wait_until(mutex_, turn_until_) && cause_.ok() && turn_ && turn_ != tag && !at_work_ &&
          std::chrono::steady_clock::now() >= turn_until_) {
        cause_ = deadline_exceeded("task 0 began a sum that this task did not come to within ",
                                   std::chrono::duration<double>(engine_.timeout()).count(), " s")
                     .with_id("ARG-COMM-002")
                     .with_hint("look at what this task does: an earlier error, or other collectives");
        changed_.notify_all();
      }
    } else {
      std::uint32_t announced = 0;
      listening_ = true;
      mutex_.unlock();
      const Status heard = engine_.broadcast(reinterpret_cast<std::byte*>(&announced), sizeof announced, 0, kTurns);
      mutex_.lock();
      listening_ = false;
      if (heard.ok()) {
        turn_ = announced;
        turn_until_ = std::chrono::steady_clock::now() + engine_.timeout();
      } else if (cause_.ok()) {
        cause_ = heard;
      }
      changed_.notify_all();
    }
  }
  ARGOSY_RETURN_IF_ERROR(copy_of(cause_));
  return false;
}

void SumTurns::end(const Status& status) {
  MutexLock lock(mutex_);
  at_work_ = false;
  turn_.reset();
  if (cause_.ok() && !status.ok()) cause_ = copy_of(status);
  changed_.notify_all();
}

void SumTurns::close(SumKind kind) {
  MutexLock lock(mutex_);
  closed_.insert(kind);
}

void SumTurns::abort(const Status& cause) {
  MutexLock lock(mutex_);
  if (cause_.ok()) cause_ = copy_of(cause);
  changed_.notify_all();
}

Status SumTurns::cause() {
  MutexLock lock(mutex_);
  return copy_of(cause_);
}

}  // namespace argosy
