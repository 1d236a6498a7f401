#include "argosy/comm/shared_memory/inproc_state.h"

#include <sched.h>

#include <algorithm>

#include "argosy/base/clock.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/base/threads/spin.h"
#include "argosy/device/copy.h"

namespace argosy {

namespace {
constexpr std::int64_t kYieldNanos = 100'000;  // giving way costs nobody anything, so for longer than a spin
constexpr std::size_t kWorthWaking = std::size_t{1} << 20;  // bytes; below, the work is done before a sleeper is awake
}  // namespace

InprocGroup::State::State(int size, const InprocOptions& options)
    : size_(size),
      options_(options),
      awake_(size <= available_cores()),
      seats_(static_cast<std::size_t>(size)),
      channels_(static_cast<std::size_t>(size) * static_cast<std::size_t>(size)) {
  for (Round& round : rounds_) {
    round.calls.resize(static_cast<std::size_t>(size));
    round.shares = std::vector<BlockShare>(static_cast<std::size_t>(size));
  }
  for (int r = 0; r < size; ++r) ranks_.push_back(std::make_unique<Rank>(*this, r));
}

Communicator& InprocGroup::State::rank(int rank) {
  ARGOSY_CHECK(rank >= 0 && rank < size_);
  return *ranks_[static_cast<std::size_t>(rank)];
}

template <typename Ready>
InprocGroup::State::Waited InprocGroup::State::wait(int rank, const Ready& ready, std::int64_t deadline_nanos) {
  const auto interrupted = [&] { return deadline_nanos != 0 && aborted(); };
  const auto over = [&] { return ready() || interrupted(); };
  if (awake_) {
    spin_until(over);
  } else {
    const std::int64_t end = now_nanos() + kYieldNanos;
    while (!over() && now_nanos() < end) sched_yield();
  }
  if (ready()) return Waited::kReady;
  Seat& s = seat(rank);
  MutexLock lock(s.mutex);
  // Ordered before the next look at ready(), as a waker's change is before its look at asleep.
  s.asleep.store(true, std::memory_order_seq_cst);
  Waited waited = Waited::kReady;
  while (!ready()) {
    const std::int64_t left = deadline_nanos == 0 ? 1 : deadline_nanos - now_nanos();
    if (interrupted()) {
      waited = Waited::kAborted;
    } else if (left <= 0) {
      waited = Waited::kLate;
    } else if (deadline_nanos == 0) {
      s.wake.wait(s.mutex);
    } else {
      s.wake.wait_until(s.mutex, std::chrono::steady_clock::now() + std::chrono::nanoseconds(left));
    }
    if (waited != Waited::kReady) break;
  }
  s.asleep.store(false, std::memory_order_relaxed);
  return waited;
}

// REQUIRES: what changed was stored with seq_cst.
void InprocGroup::State::wake(int rank) {
  Seat& s = seat(rank);
  if (!s.asleep.load(std::memory_order_seq_cst)) return;
  MutexLock lock(s.mutex);
  s.wake.notify_one();
}

// In the order of their numbers after this one's.
void InprocGroup::State::wake_others(int rank, int most) {
  for (int k = 1; k < size_ && k <= most; ++k) wake((rank + k) % size_);
}

std::int64_t InprocGroup::State::deadline(const CollectiveOptions& options) const {
  const auto timeout = options.timeout.count() > 0 ? options.timeout : options_.timeout;
  return now_nanos() + std::max<std::int64_t>(timeout.count(), 1);
}

Status InprocGroup::State::late(const std::string& what, const CollectiveOptions& options,
                                const std::vector<int>& missing) {
  const auto timeout = options.timeout.count() > 0 ? options.timeout : options_.timeout;
  return deadline_exceeded(what, ": after ", static_cast<double>(timeout.count()) * 1e-9, " s ",
                           missing.size() == 1 ? "rank " : "ranks ", str_join(missing), " of ", size_, " had not come")
      .with_id("ARG-COMM-002")
      .with_hint("look at what those ranks do: an earlier error, another order of collectives, or just slow work");
}

Status InprocGroup::State::collective(int rank, std::uint64_t epoch, const CollectiveCall& call,
                                      const CollectiveOptions& options) {
  Round& round = rounds_[epoch % 2];
  round.calls[static_cast<std::size_t>(rank)] = call;
  seat(rank).arrivals.store(epoch + 1, std::memory_order_relaxed);
  const auto phase = [&round] { return round.phase.load(std::memory_order_seq_cst); };
  if (round.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == size_) {
    start(round, rank);
  } else {
    const auto begun = [&] { return phase() != Round::kGathering; };
    const Waited waited = wait(rank, begun, deadline(options));
    if (waited != Waited::kReady) {
      // Whoever leaves takes its arrival back, so that the round can never be complete without it. If it is complete
      // already, it will be done on every rank, this one too.
      int arrived = round.arrived.load(std::memory_order_acquire);
      while (arrived < size_ && !round.arrived.compare_exchange_weak(arrived, arrived - 1, std::memory_order_acq_rel)) {
      }
      if (arrived < size_) {
        if (waited == Waited::kLate) {
          std::vector<int> missing;
          for (int r = 0; r < size_; ++r) {
            if (seat(r).arrivals.load(std::memory_order_relaxed) <= epoch) missing.push_back(r);
          }
          abort(late(call.describe(), options, missing));
        }
        return cause();
      }
      wait(rank, begun, 0);
    }
  }
  if (phase() == Round::kRunning) {
    work(round, rank);
    wait(
        rank, [&] { return phase() == Round::kDone; }, 0);
  }
  if (options_.link_bytes_per_second > 0) pace(round, call, rank);
  return round.status;
}

void InprocGroup::State::start(Round& round, int rank) {
  // Everybody is here, so nobody is in the other round any more.
  Round& other = rounds_[&round == &rounds_[0] ? 1 : 0];
  other.arrived.store(0, std::memory_order_relaxed);
  other.phase.store(Round::kGathering, std::memory_order_relaxed);

  round.status = round.job.plan(round.calls);
  round.start_nanos = options_.link_bytes_per_second > 0 ? now_nanos() : 0;
  const std::size_t blocks = round.status.ok() ? round.job.blocks() : 0;
  if (blocks == 0) {
    round.phase.store(Round::kDone, std::memory_order_seq_cst);
    wake_others(rank, size_);
    return;
  }
  const auto ranks = static_cast<std::size_t>(size_);
  for (std::size_t r = 0; r < ranks; ++r) {
    round.shares[r].next.store(blocks * r / ranks, std::memory_order_relaxed);
    round.shares[r].end = blocks * (r + 1) / ranks;
  }
  round.blocks_left.store(blocks, std::memory_order_relaxed);
  round.phase.store(Round::kRunning, std::memory_order_seq_cst);
  if (round.job.bytes() >= kWorthWaking) wake_others(rank, available_cores() - 1);
}

void InprocGroup::State::work(Round& round, int rank) {
  const auto take_blocks = [&] {
    std::size_t done = 0;
    for (int k = 0; k < size_; ++k) {
      BlockShare& share = round.shares[static_cast<std::size_t>((rank + k) % size_)];
      while (share.next.load(std::memory_order_relaxed) < share.end) {
        const std::size_t block = share.next.fetch_add(1, std::memory_order_relaxed);
        if (block >= share.end) break;
        round.job.run_block(block);
        ++done;
      }
    }
    if (done == 0 || round.blocks_left.fetch_sub(done, std::memory_order_acq_rel) != done) return;
    round.phase.store(Round::kDone, std::memory_order_seq_cst);
    wake_others(rank, size_);
  };
  // Cores that no rank's own thread takes help, as far as this thread may have them.
  const int threads = std::min(thread_budget(), available_cores() / size_);
  if (threads <= 1 || round.job.bytes() < kWorthWaking) return take_blocks();
  parallel_for_whole(threads, 1, [&](std::int64_t, std::int64_t) { take_blocks(); });
}

void InprocGroup::State::pace(const Round& round, const CollectiveCall& call, int rank) {
  const double n = size_;
  double crossings = 0;  // times the bytes pass a rank's link
  switch (call.kind) {
    case Collective::kAllReduce:
    case Collective::kAllReduceShards: crossings = 2 * (n - 1) / n; break;
    case Collective::kReduceScatter:
    case Collective::kAllGather: crossings = (n - 1) / n; break;
    case Collective::kBroadcast: crossings = 1; break;
    case Collective::kAllToAll: crossings = (n - 1) / n / n; break;  // its bytes are those of all ranks
    case Collective::kBarrier: return;
  }
  const double seconds = crossings * static_cast<double>(round.job.bytes()) / options_.link_bytes_per_second;
  wait(
      rank, [] { return false; }, round.start_nanos + static_cast<std::int64_t>(seconds * 1e9));
}

Status InprocGroup::State::send(int from, int to, const Tensor& tensor, const CollectiveOptions& options) {
  Channel& channel = this->channel(from, to);
  channel.tensor = &tensor;
  channel.name = options.name;
  channel.state.store(Channel::kOffered, std::memory_order_seq_cst);
  wake(to);
  const auto taken = [&] { return channel.state.load(std::memory_order_seq_cst) == Channel::kTaken; };
  const Waited waited = wait(from, taken, deadline(options));
  if (waited != Waited::kReady) {
    int offered = Channel::kOffered;
    if (channel.state.compare_exchange_strong(offered, Channel::kEmpty, std::memory_order_acq_rel)) {
      if (waited == Waited::kLate) abort(late(str_cat("send from rank ", from), options, {to}));
      return cause();
    }
    wait(from, taken, 0);  // it is being read
  }
  Status status = std::move(channel.status);
  channel.status = {};
  channel.state.store(Channel::kEmpty, std::memory_order_release);
  return status;
}

Status InprocGroup::State::recv(int to, int from, const Tensor& tensor, const CollectiveOptions& options) {
  Channel& channel = this->channel(from, to);
  const std::int64_t end = deadline(options);
  int offered = Channel::kOffered;
  do {
    const Waited waited = wait(
        to, [&] { return channel.state.load(std::memory_order_seq_cst) == Channel::kOffered; }, end);
    if (waited == Waited::kLate) abort(late(str_cat("recv on rank ", to), options, {from}));
    if (waited != Waited::kReady) return cause();
    offered = Channel::kOffered;
  } while (!channel.state.compare_exchange_strong(offered, Channel::kTaking, std::memory_order_acq_rel));
  const Tensor& source = *channel.tensor;
  Status status;
  if (source.dtype() != tensor.dtype() || source.elements() != tensor.elements() || channel.name != options.name) {
    status =
        invalid_argument("rank ", from, " sends \"", channel.name, "\" ", dtype_name(source.dtype()), source.shape(),
                         ", rank ", to, " receives \"", options.name, "\" ", dtype_name(tensor.dtype()), tensor.shape())
            .with_id("ARG-COMM-001");
  } else if (!is_plain(tensor.dtype())) {
    status = unsupported_dtype("send", tensor.dtype());
  } else {
    copy_memory(tensor.raw(), source.raw(), source.bytes());
  }
  channel.status = status;
  channel.state.store(Channel::kTaken, std::memory_order_seq_cst);
  wake(from);
  return status;
}

void InprocGroup::State::abort(Status cause) {
  ARGOSY_CHECK(!cause.ok());
  {
    MutexLock lock(mutex_);
    if (!cause_.ok()) return;
    cause_ = std::move(cause);
    aborted_.store(true, std::memory_order_seq_cst);
  }
  for (int r = 0; r < size_; ++r) wake(r);
}

Status InprocGroup::State::cause() {
  MutexLock lock(mutex_);
  return cause_;
}

Status InprocGroup::State::reset() {
  MutexLock lock(mutex_);
  for (int r = 0; r < size_; ++r) {
    if (seat(r).inside.load(std::memory_order_acquire)) {
      return failed_precondition("group cannot be reset: rank ", r, " is still inside a call").with_id("ARG-COMM-003");
    }
  }
  for (Round& round : rounds_) {
    round.arrived.store(0);
    round.phase.store(Round::kGathering);
  }
  for (Channel& channel : channels_) channel.state.store(Channel::kEmpty);
  for (int r = 0; r < size_; ++r) {
    seat(r).arrivals.store(0);
    ranks_[static_cast<std::size_t>(r)]->restart();
  }
  cause_ = {};
  aborted_.store(false, std::memory_order_release);
  return {};
}

}  // namespace argosy
