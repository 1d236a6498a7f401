// What the ranks of an in-process group share, and how they wait for each other.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/comm/collective_job.h"
#include "argosy/comm/rank_communicator.h"
#include "argosy/comm/shared_memory/inproc_group.h"

namespace argosy {

// Blocks [next, end) of a job that a rank takes first.
struct alignas(64) BlockShare {
  std::atomic<std::size_t> next{0};
  std::size_t end = 0;
};

// One collective, from the first rank's coming to the last one's going. Two take turns: a rank can be at most one
// ahead.
struct Round {
  enum Phase : int { kGathering, kRunning, kDone };
  alignas(64) std::atomic<int> arrived{0};
  alignas(64) std::atomic<int> phase{kGathering};
  alignas(64) std::atomic<std::size_t> blocks_left{0};
  std::vector<CollectiveCall> calls;  // by rank; written before arriving
  std::vector<BlockShare> shares;     // by rank
  // Written by the last to arrive, before the phase says so.
  CollectiveJob job;
  Status status;
  std::int64_t start_nanos = 0;
};

// From one rank to another: one tensor at a time.
struct alignas(64) Channel {
  enum State : int { kEmpty, kOffered, kTaking, kTaken };
  std::atomic<int> state{kEmpty};
  const Tensor* tensor = nullptr;  // written by the sender before kOffered
  std::string_view name;
  Status status;  // written by the receiver before kTaken
};

// Where a rank waits.
struct alignas(64) Seat {
  std::atomic<bool> inside{false};         // a call
  std::atomic<std::uint64_t> arrivals{0};  // collectives entered, for telling who is missing
  std::atomic<bool> asleep{false};         // written under the mutex; read without it to see whether to wake
  Mutex mutex;
  CondVar wake;
};

class InprocGroup::State {
 public:
  State(int size, const InprocOptions& options);

  int size() const { return size_; }
  Communicator& rank(int rank);
  const InprocOptions& options() const { return options_; }

  Status collective(int rank, std::uint64_t epoch, const CollectiveCall& call, const CollectiveOptions& options);
  Status send(int from, int to, const Tensor& tensor, const CollectiveOptions& options);
  Status recv(int to, int from, const Tensor& tensor, const CollectiveOptions& options);

  void abort(Status cause);
  bool aborted() const { return aborted_.load(std::memory_order_seq_cst); }
  Status cause();
  Status reset();
  Seat& seat(int rank) { return seats_[static_cast<std::size_t>(rank)]; }

 private:
  enum class Waited { kReady, kAborted, kLate };

  // Until ready(), the group's abort or the deadline (0 = wait for ready() alone, however long).
  template <typename Ready>
  Waited wait(int rank, const Ready& ready, std::int64_t deadline_nanos);
  void wake(int rank);
  void wake_others(int rank, int most);

  void start(Round& round, int rank);
  void work(Round& round, int rank);
  void pace(const Round& round, const CollectiveCall& call, int rank);
  Channel& channel(int from, int to) {
    return channels_[static_cast<std::size_t>(from) * seats_.size() + static_cast<std::size_t>(to)];
  }
  std::int64_t deadline(const CollectiveOptions& options) const;
  Status late(const std::string& what, const CollectiveOptions& options, const std::vector<int>& missing);

  const int size_;
  const InprocOptions options_;
  const bool awake_;  // a core for every rank: waiting may spin
  std::vector<Seat> seats_;
  Round rounds_[2];
  std::vector<Channel> channels_;  // from * size + to
  std::vector<std::unique_ptr<Rank>> ranks_;

  std::atomic<bool> aborted_{false};
  Mutex mutex_;
  Status cause_ ARGOSY_GUARDED_BY(mutex_);
};

// A rank's end. Holds the group's state by reference.
class InprocGroup::Rank final : public RankCommunicator {
 public:
  Rank(State& state, int rank) : RankCommunicator(rank, state.size()), state_(state) {}
  void abort(Status cause) override { state_.abort(std::move(cause)); }

  void restart() { epoch_ = 0; }

 private:
  Status collective(const CollectiveCall& call, const CollectiveOptions& options) override;
  Status exchange(bool sends, int other, const Tensor& tensor, const CollectiveOptions& options) override;
  // One call at a time, the group's abort before it.
  template <typename Call>
  Status alone(const CollectiveOptions& options, const Call& call);

  State& state_;
  std::uint64_t epoch_ = 0;
};

}  // namespace argosy
