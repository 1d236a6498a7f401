#include "argosy/comm/native_gpu/gpu_communicators.h"

#include <map>
#include <thread>

#include "argosy/base/clock.h"
#include "argosy/comm/rank_communicator.h"
#include "argosy/device/event.h"

namespace argosy::cuda {

// Where the ranks' calls meet: the last to come starts what all of them asked for.
class GpuCommunicators::State {
 public:
  State(std::vector<CudaDevice*> devices, std::shared_ptr<GpuCollectives> collectives,
        std::chrono::nanoseconds timeout);

  int size() const { return static_cast<int>(devices_.size()); }
  Rank& rank(int rank) { return *ranks_[static_cast<std::size_t>(rank)]; }

  Status collective(int rank, const CollectiveCall& call, const CollectiveOptions& options);
  Status exchange(int from, int to, const Tensor& tensor, bool sends, const CollectiveOptions& options);
  void abort(const Status& cause);

 private:
  // The k-th call of every rank is one round.
  struct Round {
    std::vector<CollectiveCall> calls;
    std::vector<Event> ready, ends;
    int arrived = 0, left = 0;
    bool over = false;
    Status status;
  };
  // One message from rank to rank.
  struct Message {
    const Tensor* from = nullptr;
    const Tensor* to = nullptr;
    std::string from_name, to_name;
    Event ready[2], end;
    bool over = false;
    Status status;
  };

  std::int64_t deadline(const CollectiveOptions& options) const {
    return now_nanos() + (options.timeout.count() > 0 ? options.timeout : timeout_).count();
  }
  template <typename Ready>
  Status wait(const Ready& ready, std::int64_t end, const std::string& what) ARGOSY_REQUIRES(mutex_);
  // Until the GPU has done it; nobody waits for a GPU that hangs.
  Status end_of(int rank, const Event& end, std::int64_t deadline, const std::string& what);

  const std::vector<CudaDevice*> devices_;
  const std::shared_ptr<GpuCollectives> collectives_;
  const std::chrono::nanoseconds timeout_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  Mutex mutex_;
  CondVar changed_;
  Status cause_ ARGOSY_GUARDED_BY(mutex_);
  std::map<std::int64_t, Round> rounds_ ARGOSY_GUARDED_BY(mutex_);
  std::vector<std::int64_t> next_ ARGOSY_GUARDED_BY(mutex_);  // by rank
  std::map<std::pair<int, int>, std::shared_ptr<Message>> messages_ ARGOSY_GUARDED_BY(mutex_);
};

class GpuCommunicators::Rank final : public RankCommunicator {
 public:
  Rank(State& state, int rank) : RankCommunicator(rank, state.size()), state_(state) {}
  void abort(Status cause) override { state_.abort(cause); }

 private:
  Status collective(const CollectiveCall& call, const CollectiveOptions& options) override {
    return guarded(options, [&] { return state_.collective(rank(), call, options); });
  }
  Status exchange(bool sends, int other, const Tensor& tensor, const CollectiveOptions& options) override {
    return guarded(options, [&] {
      return sends ? state_.exchange(rank(), other, tensor, true, options)
                   : state_.exchange(other, rank(), tensor, false, options);
    });
  }

  State& state_;
};

GpuCommunicators::State::State(std::vector<CudaDevice*> devices, std::shared_ptr<GpuCollectives> collectives,
                               std::chrono::nanoseconds timeout)
    : devices_(std::move(devices)), collectives_(std::move(collectives)), timeout_(timeout), next_(devices_.size(), 0) {
  for (int r = 0; r < size(); ++r) ranks_.push_back(std::make_unique<Rank>(*this, r));
}

void GpuCommunicators::State::abort(const Status& cause) {
  {
    MutexLock lock(mutex_);
    if (!cause_.ok()) return;
    cause_ = cause;
  }
  collectives_->abort(cause);
  changed_.notify_all();
}

template <typename Ready>
Status GpuCommunicators::State::wait(const Ready& ready, std::int64_t end, const std::string& what) {
  while (!ready()) {
    if (!cause_.ok()) return cause_;
    const std::int64_t left = end - now_nanos();
    if (left <= 0) return deadline_exceeded(what).with_id("ARG-COMM-002");
    changed_.wait_until(mutex_, std::chrono::steady_clock::now() + std::chrono::nanoseconds(left));
  }
  return {};
}

Status GpuCommunicators::State::end_of(int rank, const Event& end, std::int64_t deadline, const std::string& what) {
  CudaDevice& device = *devices_[static_cast<std::size_t>(rank)];
  while (end.state() != nullptr && !end.state()->reached()) {
    Status cause;
    {
      MutexLock lock(mutex_);
      cause = cause_;
    }
    if (cause.ok() && now_nanos() > deadline) {
      cause = deadline_exceeded(what, " was started and does not end").with_id("ARG-COMM-004");
      abort(cause);
    }
    if (!cause.ok()) return cause;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  return device.launch_queue()->failure();
}

Status GpuCommunicators::State::collective(int rank, const CollectiveCall& call, const CollectiveOptions& options) {
  const std::int64_t end = deadline(options);
  const auto mine = static_cast<std::size_t>(rank);
  ARGOSY_ASSIGN_OR_RETURN(Event ready, devices_[mine]->launch_queue()->record());
  Event over;
  Status status;
  {
    MutexLock lock(mutex_);
    if (!cause_.ok()) return cause_;
    const std::int64_t number = next_[mine]++;
    Round& round = rounds_[number];
    round.calls.resize(devices_.size());
    round.ready.resize(devices_.size());
    round.calls[mine] = call;
    round.ready[mine] = std::move(ready);
    if (++round.arrived == size()) {
      Result<std::vector<Event>> ends = collectives_->start(round.calls, round.ready);
      round.status = ends.status();
      if (ends.ok()) round.ends = *std::move(ends);
      round.over = true;
      changed_.notify_all();
    } else {
      status = wait([&] { return round.over; }, end,
                    str_cat(call.describe(), ": ", round.arrived, " of ", size(), " ranks came"));
      if (!status.ok() && !round.over) {
        // Nobody may start with this rank's tensors any more.
        if (cause_.ok()) cause_ = status;
        changed_.notify_all();
        return status;
      }
    }
    status = round.status;
    if (status.ok()) over = round.ends[mine];
    if (++round.left == size()) rounds_.erase(number);
  }
  ARGOSY_RETURN_IF_ERROR(status);
  return end_of(rank, over, end, call.describe());
}

Status GpuCommunicators::State::exchange(int from, int to, const Tensor& tensor, bool sends,
                                         const CollectiveOptions& options) {
  const std::int64_t end = deadline(options);
  const int rank = sends ? from : to;
  ARGOSY_ASSIGN_OR_RETURN(Event ready, devices_[static_cast<std::size_t>(rank)]->launch_queue()->record());
  std::shared_ptr<Message> message;
  {
    MutexLock lock(mutex_);
    if (!cause_.ok()) return cause_;
    auto& slot = messages_[{from, to}];
    const bool first = slot == nullptr;
    if (first) slot = std::make_shared<Message>();
    message = slot;
    (sends ? message->from : message->to) = &tensor;
    (sends ? message->from_name : message->to_name) = options.name;
    message->ready[sends ? 0 : 1] = std::move(ready);
    if (first) {
      Status status =
          wait([&] { return message->over; }, end,
               str_cat(sends ? "send to rank " : "recv from rank ", sends ? to : from, ": it did not come"));
      if (!status.ok() && !message->over) {
        if (cause_.ok()) cause_ = status;
        changed_.notify_all();
        return status;
      }
    } else {
      slot = nullptr;
      const Tensor &out = *message->from, &in = *message->to;
      if (out.dtype() != in.dtype() || out.elements() != in.elements() || message->from_name != message->to_name) {
        message->status = invalid_argument("rank ", from, " sends \"", message->from_name, "\" ",
                                           dtype_name(out.dtype()), out.shape(), ", rank ", to, " receives \"",
                                           message->to_name, "\" ", dtype_name(in.dtype()), in.shape())
                              .with_id("ARG-COMM-001");
      } else {
        Result<Event> started = collectives_->send(out, from, in, to, message->ready);
        message->status = started.status();
        if (started.ok()) message->end = *std::move(started);
      }
      message->over = true;
      changed_.notify_all();
    }
  }
  ARGOSY_RETURN_IF_ERROR(message->status);
  return end_of(rank, message->end, end, sends ? "send" : "recv");
}

GpuCommunicators::GpuCommunicators(std::vector<CudaDevice*> devices, std::shared_ptr<GpuCollectives> collectives,
                                   std::chrono::nanoseconds timeout)
    : state_(std::make_unique<State>(std::move(devices), std::move(collectives), timeout)) {}
GpuCommunicators::~GpuCommunicators() = default;
int GpuCommunicators::size() const { return state_->size(); }
Communicator& GpuCommunicators::rank(int rank) { return state_->rank(rank); }

}  // namespace argosy::cuda
