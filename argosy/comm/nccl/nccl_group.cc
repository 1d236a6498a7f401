#include "argosy/comm/nccl/nccl_group.h"

#include <algorithm>

#include "argosy/base/clock.h"
#include "argosy/device/cuda/cuda_launch_queue.h"

namespace argosy::cuda {

namespace {

int nccl_type(DType dtype) {
  switch (dtype) {
    case DType::kInt8: return kNcclInt8;
    case DType::kUint8: return kNcclUint8;
    case DType::kInt32: return kNcclInt32;
    case DType::kUint32: return kNcclUint32;
    case DType::kInt64: return kNcclInt64;
    case DType::kUint64: return kNcclUint64;
    case DType::kFloat16: return kNcclFloat16;
    case DType::kFloat32: return kNcclFloat32;
    case DType::kFloat64: return kNcclFloat64;
    case DType::kBfloat16: return kNcclBfloat16;
    default: return -1;
  }
}

int nccl_reduction(Reduction reduction) {
  switch (reduction) {
    case Reduction::kSum: return kNcclSum;
    case Reduction::kMean: return kNcclAvg;
    case Reduction::kMin: return kNcclMin;
    case Reduction::kMax: return kNcclMax;
    case Reduction::kProd: return kNcclProd;
  }
  return kNcclSum;
}

// NCCL's mean of whole numbers, and its extremes where there are NaNs, are not ours.
bool reduces(DType dtype, Reduction reduction) {
  const Component component = component_of(dtype, reduction);
  if (nccl_type(component.dtype) < 0) return false;
  if (reduction == Reduction::kMean) return is_floating(component.dtype);
  if (reduction == Reduction::kMin || reduction == Reduction::kMax) return !is_floating(component.dtype);
  return true;
}

// Bytes where only copies are made.
struct Units {
  int type;
  std::size_t count;
};
Units units_of(const Tensor& t, Reduction reduction, bool reduce) {
  if (!reduce) return {kNcclUint8, t.bytes()};
  const Component component = component_of(t.dtype(), reduction);
  return {nccl_type(component.dtype), static_cast<std::size_t>(t.elements()) * component.per_element};
}

bool same_sizes(std::span<const Tensor> a, std::span<const Tensor> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Tensor& x, const Tensor& y) { return x.elements() == y.elements(); });
}

bool one_shard_a_rank(std::span<const CollectiveCall> calls, const SpanningRanks& ranks) {
  for (std::size_t r = 0; r < calls.size(); ++r) {
    if (calls[r].shards.size() != 1 || calls[r].shards[0].index != ranks.first + static_cast<int>(r)) return false;
  }
  return calls[0].total == ranks.size && static_cast<int>(calls.size()) == ranks.here;
}

}  // namespace

std::shared_ptr<NcclCollectives> NcclCollectives::make(std::shared_ptr<const Nccl> nccl,
                                                       std::vector<CudaDevice*> devices, const NcclOptions& options) {
  return std::make_shared<NcclGroup>(std::move(nccl), devices, options);
}

bool NcclCollectives::takes(std::span<const CollectiveCall> calls) {
  return takes(calls, {.size = static_cast<int>(calls.size()), .here = static_cast<int>(calls.size())});
}

bool NcclCollectives::takes(std::span<const CollectiveCall> calls, const SpanningRanks& ranks) {
  const auto all = [&](const auto& fits) { return std::all_of(calls.begin(), calls.end(), fits); };
  const CollectiveCall& first = calls[0];
  const auto reducible = [&](std::span<const Tensor> tensors) {
    return std::all_of(tensors.begin(), tensors.end(),
                       [&](const Tensor& t) { return reduces(t.dtype(), first.reduction); });
  };
  switch (first.kind) {
    case Collective::kAllReduce: return reducible(first.tensors);
    case Collective::kAllReduceShards: return one_shard_a_rank(calls, ranks) && reducible(first.out);
    case Collective::kReduceScatterShards:
      return one_shard_a_rank(calls, ranks) && reducible(first.out) &&
             all([&](const CollectiveCall& c) { return same_sizes(c.out, first.out); });
    case Collective::kReduceScatter:
      return reducible(first.tensors) && all([&](const CollectiveCall& c) { return same_sizes(c.out, first.out); });
    case Collective::kAllGather:
      return all([&](const CollectiveCall& c) { return same_sizes(c.tensors, first.tensors); });
    case Collective::kBroadcast:
    case Collective::kAllToAll:
    case Collective::kAllToAllParts:
    case Collective::kBarrier:
    case Collective::kSend:
    case Collective::kRecv: return true;
  }
  return false;
}

NcclGroup::NcclGroup(std::shared_ptr<const Nccl> nccl, const std::vector<CudaDevice*>& devices,
                     const NcclOptions& options, const SpanningRanks& ranks)
    : nccl_(std::move(nccl)),
      options_(options),
      ranks_(ranks.size > 0 ? ranks
                            : SpanningRanks{static_cast<int>(devices.size()), 0, static_cast<int>(devices.size())}),
      streams_(devices),
      links_(links_of(*devices[0])) {}

NcclGroup::~NcclGroup() {
  {
    MutexLock lock(watch_mutex_);
    closing_ = true;
  }
  watch_changed_.notify_all();
  if (watcher_.joinable()) watcher_.join();
  fail_all(cancelled("the group of GPUs is over"));
}

std::string NcclGroup::names() const {
  std::vector<std::string> all;
  for (int r = 0; r < size(); ++r) all.push_back(streams_.core(r).owner());
  return str_join(all);
}

Status NcclGroup::failure(std::string_view what, int result) const {
  std::string text = (*nccl_)->error_text(result);
  const char* const more =
      (*nccl_)->last_error != nullptr && !comms_.empty() ? (*nccl_)->last_error(comms_[0]) : nullptr;
  if (more != nullptr && *more != '\0') text += str_cat(": ", more);
  return unavailable("NCCL ", nccl_->version_text(), ", ", what, " of ", names(), ": ", text)
      .with_id("ARG-COMM-004")
      .with_hint("NCCL_DEBUG=INFO says more; ARGOSY_COLLECTIVES=own goes without NCCL");
}

void NcclGroup::drop_communicators() {
  for (std::size_t r = 0; r < comms_.size(); ++r) {
    // Also of a GPU that is gone: what can be freed is freed.
    (void)streams_.enter(static_cast<int>(r));
    if (comms_[r] != nullptr) (*nccl_)->abort(comms_[r]);
  }
  comms_.clear();
  broken_ = false;
}

Status NcclGroup::settle(std::string_view what, std::chrono::nanoseconds limit) {
  const std::int64_t end = now_nanos() + limit.count();
  Status cause;
  int looks = 0;
  for (std::size_t r = 0; r < comms_.size() && cause.ok();) {
    int state = kNcclSuccess;
    const int asked = (*nccl_)->async_error(comms_[r], &state);
    if (asked != kNcclSuccess || (state != kNcclSuccess && state != kNcclInProgress)) {
      cause = failure(what, asked != kNcclSuccess ? asked : state);
    } else if (state == kNcclSuccess) {
      ++r;
    } else if (failing_.load(std::memory_order_acquire)) {
      cause = aborted(what, " of ", names(), ": the collective before it has failed").with_id("ARG-COMM-004");
    } else if (now_nanos() > end) {
      cause = deadline_exceeded(what, " of ", names(), ": ", streams_.core(static_cast<int>(r)).owner(), " (rank ",
                                ranks_.first + static_cast<int>(r), ") is not there after ",
                                static_cast<double>(limit.count()) * 1e-9, " s")
                  .with_id("ARG-COMM-004")
                  .with_hint("NCCL_DEBUG=INFO says more; ARGOSY_COLLECTIVES=own goes without NCCL");
    } else if (++looks < 1000) {
      std::this_thread::yield();  // most are there in less time than a thread needs to fall asleep
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(10));
    }
  }
  if (!cause.ok()) broken_ = true;
  return cause;
}

template <typename Enqueue>
Status NcclGroup::together(std::string_view what, std::chrono::nanoseconds limit, const Enqueue& enqueue) {
  int result = (*nccl_)->group_start();
  Status entered;
  for (int r = 0; r < size() && result == kNcclSuccess && entered.ok(); ++r) {
    entered = streams_.enter(r);
    if (entered.ok()) result = enqueue(r);
    if (result == kNcclInProgress) result = kNcclSuccess;
  }
  // Also where a GPU is gone: a group left open would swallow all that this thread asks NCCL for from now on. Ended,
  // its other ranks wait for the one that did not come, so the communicators go.
  const int ended = (*nccl_)->group_end();
  if (!entered.ok()) {
    broken_ = true;
    return entered;
  }
  if (result == kNcclSuccess && ended != kNcclInProgress) result = ended;
  if (result != kNcclSuccess) {
    broken_ = true;
    return failure(what, result);
  }
  return settle(what, limit);
}

Status NcclGroup::open_memories() {
  for (int r = 0; r < size(); ++r) {
    for (int k = 0; k < size(); ++k) {
      if (k == r) continue;
      DeviceCore &from = streams_.core(r), &memory = streams_.core(k);
      int reaches = 0;
      ARGOSY_RETURN_IF_ERROR(from.check(from.driver()->cuDeviceCanAccessPeer(&reaches, from.gpu(), memory.gpu()),
                                        "cuDeviceCanAccessPeer"));
      if (reaches != 0) ARGOSY_RETURN_IF_ERROR(memory.memory().grant(from.gpu()));
    }
  }
  return {};
}

Status NcclGroup::make_communicators(const NcclId& id) {
  comms_.assign(static_cast<std::size_t>(size()), nullptr);
  NcclConfig config;
  ARGOSY_RETURN_IF_ERROR(open_memories());
  return together("communicators", options_.timeout, [&](int r) ARGOSY_REQUIRES(mutex_) {
    return (*nccl_)->init(&comms_[static_cast<std::size_t>(r)], ranks_.size, id, ranks_.first + r, &config);
  });
}

namespace {

Status job_ended() { return aborted("the job ended while NCCL connected its tasks"); }

Status cannot_connect(const Status& why) {
  return Status(why.code(), why.message()).with_id("ARG-COMM-006").with_hint(why.hint());
}

}  // namespace

Status NcclGroup::connect() {
  if (!comms_.empty()) return {};
  NcclId id{};
  if (const int result = (*nccl_)->unique_id(&id); result != kNcclSuccess) return failure("an id", result);
  Trial trial;
  Status made = make_communicators(id);
  if (made.ok()) made = begin_trial(trial);
  if (made.ok()) made = check_trial(trial);
  if (!made.ok()) {
    drop_communicators();
    return cannot_connect(made);
  }
  if (!watcher_.joinable()) watcher_ = std::thread([this] { watch(); });
  return {};
}

Status NcclGroup::connect_tasks(const NcclId& id) {
  Trial trial;
  {
    MutexLock order(links_->collectives());
    MutexLock lock(mutex_);
    Status made = ended_.load(std::memory_order_acquire) ? job_ended() : streams_.open();
    if (made.ok()) made = make_communicators(id);
    if (made.ok()) made = begin_trial(trial);
    if (!made.ok()) {
      drop_communicators();
      return cannot_connect(made);
    }
  }
  // Other collectives of this process may start meanwhile.
  const Status right = check_trial(trial);
  MutexLock lock(mutex_);
  if (!right.ok() || comms_.empty()) {
    drop_communicators();
    return cannot_connect(right.ok() ? job_ended() : right);
  }
  if (!watcher_.joinable()) watcher_ = std::thread([this] { watch(); });
  return {};
}

namespace {

constexpr std::size_t kTrialNumbers = 4096;

float trial_number(std::size_t i, int rank) {
  return static_cast<float>((i * 7 + static_cast<std::size_t>(rank) * 13) % 101);
}

}  // namespace

Status NcclGroup::begin_trial(Trial& trial) {
  std::vector<float> sent(kTrialNumbers);
  for (int r = 0; r < size(); ++r) {
    ARGOSY_ASSIGN_OR_RETURN(trial.buffers.emplace_back(),
                            streams_.core(r).memory().allocate(kTrialNumbers * sizeof(float), true));
    for (std::size_t i = 0; i < kTrialNumbers; ++i) sent[i] = trial_number(i, ranks_.first + r);
    DeviceCore& core = streams_.core(r);
    ARGOSY_RETURN_IF_ERROR(streams_.enter(r));
    ARGOSY_RETURN_IF_ERROR(
        core.check(core.driver()->cuMemcpyHtoDAsync_v2(reinterpret_cast<CuPointer>(trial.buffers.back().data()),
                                                       sent.data(), kTrialNumbers * sizeof(float), streams_.stream(r)),
                   "cuMemcpyHtoDAsync"));
    // What `sent` holds next must not be what is copied.
    ARGOSY_RETURN_IF_ERROR(core.check(core.driver()->cuStreamSynchronize(streams_.stream(r)), "cuStreamSynchronize"));
  }
  ARGOSY_RETURN_IF_ERROR(together("a trial", options_.timeout, [&](int r) ARGOSY_REQUIRES(mutex_) {
    void* const data = trial.buffers[static_cast<std::size_t>(r)].data();
    return (*nccl_)->all_reduce(data, data, kTrialNumbers, kNcclFloat32, kNcclSum, comms_[static_cast<std::size_t>(r)],
                                streams_.stream(r));
  }));
  for (int r = 0; r < size(); ++r) {
    ARGOSY_ASSIGN_OR_RETURN(trial.ends.emplace_back(), streams_.mark(r));
  }
  return {};
}

Status NcclGroup::check_trial(const Trial& trial) {
  const std::int64_t end = now_nanos() + options_.timeout.count();
  std::vector<float> got(kTrialNumbers);
  for (int r = 0; r < size(); ++r) {
    while (!trial.ends[static_cast<std::size_t>(r)].state()->reached()) {
      if (now_nanos() > end || failing_.load(std::memory_order_acquire)) {
        return deadline_exceeded("a trial of NCCL among ", names(), " does not end").with_id("ARG-COMM-006");
      }
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    DeviceCore& core = streams_.core(r);
    ARGOSY_RETURN_IF_ERROR(streams_.enter(r));
    ARGOSY_RETURN_IF_ERROR(
        core.check(core.driver()->cuMemcpyDtoHAsync_v2(
                       got.data(), reinterpret_cast<CuPointer>(trial.buffers[static_cast<std::size_t>(r)].data()),
                       kTrialNumbers * sizeof(float), streams_.stream(r)),
                   "cuMemcpyDtoHAsync"));
    ARGOSY_RETURN_IF_ERROR(core.check(core.driver()->cuStreamSynchronize(streams_.stream(r)), "cuStreamSynchronize"));
    // Given up meanwhile, the sum has ended half done.
    if (failing_.load(std::memory_order_acquire) || ended_.load(std::memory_order_acquire)) return job_ended();
    for (std::size_t i = 0; i < kTrialNumbers; ++i) {
      float sum = 0;
      for (int k = 0; k < ranks_.size; ++k) sum += trial_number(i, k);
      if (got[i] == sum) continue;
      return unavailable("NCCL ", nccl_->version_text(), " brings wrong data to ", core.owner(), ": ", got[i],
                         " in the place of ", sum)
          .with_hint("check ACS and the IOMMU: docs/gpu-status.md");
    }
  }
  return {};
}

int NcclGroup::enqueue(int rank, std::span<const CollectiveCall> calls) {
  const CollectiveCall& call = calls[static_cast<std::size_t>(rank)];
  const NcclCalls& nccl = *nccl_->operator->();
  NcclComm const comm = comms_[static_cast<std::size_t>(rank)];
  CuStream const stream = streams_.stream(rank);
  const int op = nccl_reduction(call.reduction);
  int result = kNcclSuccess;
  const auto keep_error = [&](int now) {
    if (result == kNcclSuccess || result == kNcclInProgress) result = now;
  };
  const auto all_reduce = [&](const Tensor& in, const Tensor& out) {
    const Units units = units_of(in, call.reduction, true);
    if (units.count > 0) keep_error(nccl.all_reduce(in.raw(), out.raw(), units.count, units.type, op, comm, stream));
  };
  const auto reduce_scatter = [&](const Tensor& in, const Tensor& out) {
    const Units units = units_of(out, call.reduction, true);
    if (units.count > 0)
      keep_error(nccl.reduce_scatter(in.raw(), out.raw(), units.count, units.type, op, comm, stream));
  };
  switch (call.kind) {
    case Collective::kAllReduce:
      for (const Tensor& t : call.tensors) all_reduce(t, t);
      break;
    case Collective::kAllReduceShards:
      for (std::size_t i = 0; i < call.out.size(); ++i) all_reduce(call.shards[0].tensors[i], call.out[i]);
      break;
    case Collective::kReduceScatter:
      for (std::size_t i = 0; i < call.out.size(); ++i) reduce_scatter(call.tensors[i], call.out[i]);
      break;
    case Collective::kReduceScatterShards:
      for (std::size_t i = 0; i < call.out.size(); ++i) reduce_scatter(call.shards[0].tensors[i], call.out[i]);
      break;
    case Collective::kAllGather:
      for (std::size_t i = 0; i < call.out.size(); ++i) {
        const Tensor& part = call.tensors[i];
        if (part.bytes() == 0) continue;
        keep_error(nccl.all_gather(part.raw(), call.out[i].raw(), part.bytes(), kNcclUint8, comm, stream));
      }
      break;
    case Collective::kBroadcast:
      for (const Tensor& t : call.tensors) {
        if (t.bytes() > 0) keep_error(nccl.broadcast(t.raw(), t.raw(), t.bytes(), kNcclUint8, call.root, comm, stream));
      }
      break;
    case Collective::kAllToAll: {
      const std::size_t part = call.tensors[0].bytes() / static_cast<std::size_t>(size());
      const auto* const in = static_cast<const std::byte*>(call.tensors[0].raw());
      auto* const out = static_cast<std::byte*>(call.out[0].raw());
      for (int peer = 0; peer < size() && part > 0; ++peer) {
        const std::size_t at = part * static_cast<std::size_t>(peer);
        keep_error(nccl.send(in + at, part, kNcclUint8, peer, comm, stream));
        keep_error(nccl.recv(out + at, part, kNcclUint8, peer, comm, stream));
      }
      break;
    }
    case Collective::kAllToAllParts:
      for (std::size_t i = 0; i < call.tensors.size(); ++i) {
        const int peer = static_cast<int>(i) % size();
        const Tensor &sent = call.tensors[i], &got = call.out[i];
        if (sent.bytes() > 0) keep_error(nccl.send(sent.raw(), sent.bytes(), kNcclUint8, peer, comm, stream));
        if (got.bytes() > 0) keep_error(nccl.recv(got.raw(), got.bytes(), kNcclUint8, peer, comm, stream));
      }
      break;
    case Collective::kBarrier:
    case Collective::kSend:
    case Collective::kRecv: break;
  }
  return result;
}

int NcclGroup::enqueue_message(int rank, const CollectiveCall& send, const CollectiveCall& recv) {
  const Tensor &from = send.tensors[0], &to = recv.tensors[0];
  NcclComm const comm = comms_[static_cast<std::size_t>(rank)];
  if (from.bytes() == 0) return kNcclSuccess;
  if (rank == send.rank) {
    return (*nccl_)->send(from.raw(), from.bytes(), kNcclUint8, recv.rank, comm, streams_.stream(rank));
  }
  if (rank == recv.rank) {
    return (*nccl_)->recv(to.raw(), to.bytes(), kNcclUint8, send.rank, comm, streams_.stream(rank));
  }
  return kNcclSuccess;
}

Result<std::vector<Event>> NcclGroup::watched(std::string what, std::span<const CollectiveCall> calls,
                                              const std::shared_ptr<StepAbort>& step_abort) {
  std::vector<Event> ends, ready;
  for (int r = 0; r < size(); ++r) {
    ARGOSY_ASSIGN_OR_RETURN(ends.emplace_back(), streams_.mark(r));
  }
  for (const CollectiveCall& call : calls) ready.push_back(call.ready);
  {
    MutexLock lock(watch_mutex_);
    // Nobody would look at it: its events will be reached with half of the work done.
    if (failing_.load(std::memory_order_acquire)) {
      return aborted(what, " of ", names(), ": the collective before it has failed").with_id("ARG-COMM-004");
    }
    under_way_.push_back({std::move(what), std::move(ready), ends, step_abort});
  }
  watch_changed_.notify_all();
  return ends;
}

Result<std::vector<Event>> NcclGroup::start(std::span<const CollectiveCall> calls,
                                            const std::shared_ptr<StepAbort>& step_abort) {
  bool broken = false;
  Result<std::vector<Event>> started = [&] {
    MutexLock order(links_->collectives());
    MutexLock lock(mutex_);
    Result<std::vector<Event>> ends = start_in_order(calls, step_abort);
    broken = broken_;
    return ends;
  }();
  if (broken) fail_all(started.status());
  return started;
}

Result<std::vector<Event>> NcclGroup::start_in_order(std::span<const CollectiveCall> calls,
                                                     const std::shared_ptr<StepAbort>& step_abort) {
  ARGOSY_RETURN_IF_ERROR(streams_.open());
  if (broken_ || (comms_.empty() && failing_.load(std::memory_order_acquire))) {
    return aborted("the collective before this one has failed").with_id("ARG-COMM-004");
  }
  if (spans_tasks()) {
    if (comms_.empty()) return aborted("NCCL's communicators over tasks are given up").with_id("ARG-COMM-004");
  } else {
    ARGOSY_RETURN_IF_ERROR(job_.plan(calls));  // do they agree?
  }
  if (!takes(calls, ranks_)) return unimplemented("NCCL does not do ", calls[0].describe()).with_id("ARG-COMM-005");
  if (!spans_tasks()) ARGOSY_RETURN_IF_ERROR(connect());
  ARGOSY_RETURN_IF_ERROR(streams_.wait_for(calls));
  const bool message = calls[0].kind == Collective::kSend;
  const std::string what = calls[0].describe();
  ARGOSY_RETURN_IF_ERROR(together(what, limit(), [&](int r) ARGOSY_REQUIRES(mutex_) {
    return message ? enqueue_message(r, calls[0], calls[1]) : enqueue(r, calls);
  }));
  const Result<std::vector<Event>> ends = watched(what, calls, step_abort);
  if (!ends.ok()) broken_ = true;  // nobody waits for what was started
  if (!ends.ok() || !message) return ends;
  return std::vector<Event>(2, (*ends)[static_cast<std::size_t>(calls[1].rank)]);
}

}  // namespace argosy::cuda
