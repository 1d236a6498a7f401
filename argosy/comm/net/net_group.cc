#include "argosy/comm/net/net_group.h"

#include <optional>
#include <thread>
#include <utility>

#include "argosy/base/clock.h"
#include "argosy/base/guard.h"
#include "argosy/base/str.h"
#include "argosy/base/threads/cancel_link.h"
#include "argosy/comm/collective_checks.h"
#include "argosy/device/event.h"

namespace argosy {

namespace {

// Tags of calls that meet by their number, and of messages; those from a step's graph have neither bit.
constexpr std::uint32_t kOrdered = 0x8000'0000, kMessage = 0x4000'0000, kDownwards = 0x2000'0000;

std::uint64_t bytes_of(std::span<const Tensor> tensors) {
  std::uint64_t bytes = 0;
  for (const Tensor& t : tensors) bytes += t.bytes();
  return bytes;
}

std::uint64_t bytes_of(std::span<const CollectiveCall> calls) {
  return calls.empty() ? 0 : bytes_of(of_shards(calls[0].kind) ? calls[0].out : calls[0].tensors);
}

}  // namespace

NetGroup::NetGroup(std::unique_ptr<NetEngine> engine)
    : engine_(std::move(engine)),
      blobs_(*engine_),
      direct_(*engine_, blobs_),
      threads_({.most_threads = 1024, .name = "net"}) {}

NetGroup::~NetGroup() {
  direct_.abort(cancelled("the group is over"));
  engine_->abort();
}

Status NetGroup::cause() {
  MutexLock lock(mutex_);
  return cause_;
}

void NetGroup::abort(Status cause) {
  ARGOSY_CHECK(!cause.ok());
  {
    MutexLock lock(mutex_);
    if (!cause_.ok()) return;
    cause_ = copy_of(cause);
  }
  engine_->abort();
  direct_.abort(cause);
}

NetUse NetGroup::use() {
  MutexLock lock(mutex_);
  NetUse use = use_;
  if (!calls_.empty()) use.seconds += static_cast<double>(now_nanos() - busy_since_) * 1e-9;
  return use;
}

std::string NetGroup::waits_longer_than(std::chrono::nanoseconds time) {
  MutexLock lock(mutex_);
  const bool long_enough = !calls_.empty() && now_nanos() - calls_.begin()->second.since >= time.count();
  return long_enough ? calls_.begin()->second.name : std::string();
}

Status NetGroup::counted(std::string_view name, std::uint64_t bytes, const std::function<Status()>& work) {
  std::int64_t number = 0;
  {
    MutexLock lock(mutex_);
    if (!cause_.ok()) return cause_;
    const std::int64_t now = now_nanos();
    if (calls_.empty()) busy_since_ = now;
    number = use_.calls++;
    calls_.emplace_hint(calls_.end(), number, OnItsWay{std::string(name.empty() ? "a collective" : name), now});
    use_.bytes += bytes;
  }
  Status status = guarded(work);
  {
    MutexLock lock(mutex_);
    calls_.erase(number);
    if (calls_.empty()) use_.seconds += static_cast<double>(now_nanos() - busy_since_) * 1e-9;
    // Of the call's own only what all tasks find wrong leaves the group usable.
    if (status.ok() || status.id() == "ARG-COMM-001" || status.code() == Code::kUnimplemented) return status;
    if (!cause_.ok()) return cause_;
    cause_ = copy_of(status);
  }
  engine_->abort();
  direct_.abort(status);
  return status;
}

void NetGroup::on_thread(std::function<Status()> work, std::function<void(Status)> done,
                         const std::function<void()>& first) {
  auto shared = std::make_shared<std::pair<std::function<Status()>, std::function<void(Status)>>>(std::move(work),
                                                                                                  std::move(done));
  const Status scheduled = [&] {
    MutexLock lock(order_);
    if (first != nullptr) first();
    return threads_.schedule([shared] { shared->second(shared->first()); });
  }();
  if (scheduled.ok()) return;
  abort(scheduled);
  shared->second(scheduled);
}

std::uint32_t NetGroup::tag_of(const CollectiveCall& call) {
  if (call.kind != Collective::kSend && call.kind != Collective::kRecv) {
    return kOrdered | (next_tag_.fetch_add(1, std::memory_order_relaxed) & (kMessage - 1));
  }
  // Each pair counts its messages, in each direction.
  const int from = call.kind == Collective::kSend ? rank() : call.peer;
  const int to = call.kind == Collective::kSend ? call.peer : rank();
  MutexLock lock(mutex_);
  const std::uint32_t number = messages_[2 * call.peer + (from > to ? 1 : 0)]++;
  return kMessage | (from > to ? kDownwards : 0) | (number & (kDownwards - 1));
}

void NetGroup::start(const CollectiveCall& call, Done done) {
  if (Status peer = check_peer(call); !peer.ok()) return done(std::move(peer));
  const std::uint32_t tag = tag_of(call);
  CollectiveCall mine = call;
  mine.rank = rank();
  on_thread(
      [this, mine, tag] {
        return counted(mine.name, bytes_of(std::span(&mine, 1)), [&] { return perform(mine, tag); });
      },
      [done = std::move(done)](Status status) { done(status.ok() ? Result<Event>(Event()) : std::move(status)); });
}

Status NetGroup::run_checked(const CollectiveCall& call, const CollectiveOptions& options) {
  if (inside_.exchange(true, std::memory_order_acq_rel)) {
    return failed_precondition("rank ", rank(), " is already inside a call: one thread at a time")
        .with_id("ARG-COMM-003");
  }
  CancelLink link(options.cancellation, [&] { abort(options.cancellation->status()); });
  if (link.too_late()) abort(options.cancellation->status());
  const std::uint32_t tag = tag_of(call);
  CollectiveCall mine = call;
  mine.rank = rank();
  const auto work = [&] {
    return counted(mine.name, bytes_of(std::span(&mine, 1)), [&] { return perform(mine, tag); });
  };
  Status status;
  if (options.timeout.count() <= 0) {
    status = work();
  } else {
    Mutex mutex;
    CondVar ended;
    bool over = false;
    on_thread(work, [&](Status end) {
      MutexLock lock(mutex);
      status = std::move(end);
      over = true;
      ended.notify_all();
    });
    const auto deadline = std::chrono::steady_clock::now() + options.timeout;
    MutexLock lock(mutex);
    bool late = false;
    while (!over) {
      if (late) {
        ended.wait(mutex);
      } else if (!ended.wait_until(mutex, deadline) && !over) {
        late = true;
        mutex.unlock();
        abort(deadline_exceeded(call.describe(), ": after ", std::chrono::duration<double>(options.timeout).count(),
                                " s some task of ", size(), " had not come")
                  .with_id("ARG-COMM-002")
                  .with_hint(
                      "look at what the other tasks do: an earlier error, another order of collectives, or slow work"));
        mutex.lock();
      }
    }
  }
  link.end();
  inside_.store(false, std::memory_order_release);
  if (status.ok()) return status;
  return std::move(status).with_where(
      str_cat("rank ", rank(), " of ", size(), options.name.empty() ? "" : ", ", options.name));
}

void NetGroup::start_spanning(std::vector<CollectiveCall> calls, Spanning spanning, std::uint32_t tag,
                              SpanningDone done) {
  struct Call {
    std::vector<CollectiveCall> all;
    Spanning spanning;
    SpanningDone done;
    std::optional<std::uint64_t> ticket;  // of a sum that may be direct
  };
  auto call = std::make_shared<Call>(Call{std::move(calls), std::move(spanning), std::move(done), std::nullopt});
  const auto work = [this, call, tag]() -> Status {
    auto& [all, how, over, ticket] = *call;
    if (ticket) {
      ARGOSY_ASSIGN_OR_RETURN(auto ends, direct_.start(all, how.ranks, how.backend, tag, *ticket, how.step_abort));
      if (ends) {
        std::exchange(over, nullptr)(*ends);
        // The call is under way until then: NetUse counts its time.
        for (const Event& end : *ends) {
          if (end.state() != nullptr) end.state()->wait();
        }
        return ok_status();
      }
    }
    if (how.before != nullptr) ARGOSY_RETURN_IF_ERROR(how.before(all));
    ARGOSY_RETURN_IF_ERROR(serve(all, tag, true));
    return how.after != nullptr ? how.after() : ok_status();
  };
  on_thread([this, call, work] { return counted(call->all[0].name, bytes_of(call->all), work); },
            [call](Status status) {
              if (call->done == nullptr) return;
              call->done(status.ok() ? Result<std::vector<Event>>(std::vector<Event>()) : std::move(status));
            },
            [this, call] {
              if (DirectSums::may_take(call->all, call->spanning.ranks)) call->ticket = direct_.ticket();
            });
}

void NetGroup::start_gather_values(std::vector<Tensor> own, std::uint32_t tag, Values done) {
  struct Call {
    std::vector<Tensor> own, all;
    Values done;
  };
  auto call = std::make_shared<Call>(Call{std::move(own), {}, std::move(done)});
  on_thread(
      [this, call, tag] {
        return counted("values of other tasks", bytes_of(call->own), [&]() -> Status {
          ARGOSY_ASSIGN_OR_RETURN(call->all, gather_values(call->own, tag));
          return ok_status();
        });
      },
      [call](Status status) {
        call->own.clear();
        call->done(status.ok() ? Result<std::vector<Tensor>>(std::move(call->all)) : std::move(status));
      });
}

Result<std::vector<std::string>> NetGroup::gather_texts(const std::string& own, std::string_view name) {
  std::vector<std::string> texts;
  const CollectiveCall call{.kind = Collective::kBarrier, .name = name};
  const std::uint32_t tag = tag_of(call);
  ARGOSY_RETURN_IF_ERROR(counted(name, own.size(), [&]() -> Status {
    ARGOSY_RETURN_IF_ERROR(agree(call, {}, tag));
    ARGOSY_ASSIGN_OR_RETURN(texts, blobs_.gather(own, tag));
    return ok_status();
  }));
  return texts;
}

}  // namespace argosy
