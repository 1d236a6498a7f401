#include "argosy/ops/collective/meeting.h"

#include <algorithm>
#include <atomic>

#include "argosy/base/parallel.h"
#include "argosy/comm/combine.h"
#include "argosy/comm/inproc/group.h"
#include "argosy/device/device.h"
#include "argosy/op/step_context.h"

namespace argosy {

namespace {

// Below it, waking the other devices' threads takes longer than the sum.
constexpr std::size_t kInlineBytes = 64 << 10;
// Likewise where the devices' own threads fill every core: a communication stream would take turns with one of them,
// and a turn is milliseconds long.
constexpr std::size_t kInlineBytesNoCoreToSpare = 2 << 20;

// The communicators of one set of devices, kept by the first of them from step to step. A failed group is replaced: its
// ranks may still be inside the call that failed.
class DeviceGroup final : public Resource {
 public:
  DeviceGroup(int size, double link) : size_(size), link_(link) {}
  std::string describe() const override { return str_cat("communicators of ", size_, " devices"); }

  // Every stream gets its part of one exchange before any gets part of the next. `start` must not block.
  template <typename Start>
  void start(const Start& start) {
    MutexLock lock(mutex_);
    if (!group_ || *failed_) {
      group_ = std::make_shared<InprocGroup>(size_, InprocOptions{.link_bytes_per_second = link_});
      failed_ = std::make_shared<std::atomic<bool>>(false);
    }
    start(group_, failed_);
  }

 private:
  const int size_;
  const double link_;
  Mutex mutex_;
  std::shared_ptr<InprocGroup> group_ ARGOSY_GUARDED_BY(mutex_);
  std::shared_ptr<std::atomic<bool>> failed_ ARGOSY_GUARDED_BY(mutex_);
};

std::size_t bytes_of(const std::vector<Tensor>& tensors) {
  std::size_t bytes = 0;
  for (const Tensor& t : tensors) bytes += t.bytes();
  return bytes;
}

bool on_own_devices(const std::vector<SumCall>& calls) {
  for (std::size_t i = 0; i < calls.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (calls[i].context->device() == calls[k].context->device()) return false;
    }
  }
  return calls[0].context->device() != nullptr;
}

// The step, and with it the tensors' memory, may end with the call back.
void finish(SumCall& call, Status status) {
  call.values.clear();
  call.sums.clear();
  call.done(std::move(status));
}

Status sum_on_stream(const SumCall& call, Communicator& communicator, const std::string& group) {
  std::vector<Shard> shards;
  const std::size_t tensors = call.sums.size();
  for (std::size_t s = 0; s < call.shards.size(); ++s) {
    shards.push_back({static_cast<int>(call.shards[s]), std::span(call.values).subspan(s * tensors, tensors)});
  }
  Cancellation* const cancellation = call.context->step() ? &call.context->step()->cancellation() : nullptr;
  return communicator.all_reduce_shards(shards, call.total, call.sums, Reduction::kSum,
                                        {.name = group, .cancellation = cancellation});
}

}  // namespace

Status sum_here(const std::vector<SumCall>& calls) {
  const std::size_t tensors = calls[0].sums.size();
  for (std::size_t i = 0; i < tensors; ++i) {
    const Tensor& like = calls[0].sums[i];
    std::vector<const std::byte*> in(static_cast<std::size_t>(calls[0].total), nullptr);
    std::vector<std::byte*> out;
    for (const SumCall& call : calls) {
      if (call.total != calls[0].total || call.sums.size() != tensors || call.sums[i].dtype() != like.dtype() ||
          call.sums[i].shape() != like.shape()) {
        return invalid_argument("rank ", call.rank, " brings ", call.sums.size(), " values, number ", i, " ",
                                i < call.sums.size() ? call.sums[i].to_string(0) : "missing", "; rank 0 brings ",
                                tensors, ", ", like.to_string(0));
      }
      out.push_back(static_cast<std::byte*>(call.sums[i].raw()));
      for (std::size_t s = 0; s < call.shards.size(); ++s) {
        in[static_cast<std::size_t>(call.shards[s])] =
            static_cast<const std::byte*>(call.values[s * tensors + i].raw());
      }
    }
    if (like.elements() == 0) continue;
    if (std::find(in.begin(), in.end(), nullptr) != in.end()) {
      return invalid_argument("shard ", std::find(in.begin(), in.end(), nullptr) - in.begin(), " of ", in.size(),
                              " belongs to no rank");
    }
    ARGOSY_ASSIGN_OR_RETURN(const CombineFn combine, find_combine(like.dtype(), Reduction::kSum, CombineOrder::kTree));
    combine({.in = in.data(),
             .out = out.data(),
             .inputs = static_cast<int>(in.size()),
             .outputs = static_cast<int>(out.size())},
            0, static_cast<std::size_t>(like.elements()));
  }
  return ok_status();
}

void exchange(std::vector<SumCall> calls, const std::string& group) {
  double link = 0;
  int cores = 0;
  std::string devices;
  for (const SumCall& call : calls) {
    if (call.context->device() == nullptr) continue;
    const DeviceSpec& spec = call.context->device()->spec();
    cores += spec.cores;
    if (spec.link_bytes_per_second > 0) {
      link = link == 0 ? spec.link_bytes_per_second : std::min(link, spec.link_bytes_per_second);
    }
    devices += spec.name.short_string() + " ";
  }
  const std::size_t most = cores >= available_cores() ? kInlineBytesNoCoreToSpare : kInlineBytes;
  const bool small = bytes_of(calls[0].sums) <= most && link == 0;
  if (small || !on_own_devices(calls)) {
    const Status status = sum_here(calls);
    for (SumCall& call : calls) finish(call, status);
    return;
  }
  auto found = calls[0].context->resources().find_or_make<DeviceGroup>(
      "_collective", devices, [&] { return std::make_shared<DeviceGroup>(static_cast<int>(calls.size()), link); });
  if (!found.ok()) {
    for (SumCall& call : calls) call.done(found.status());
    return;
  }
  (*found)->start([&](const std::shared_ptr<InprocGroup>& ranks, const std::shared_ptr<std::atomic<bool>>& failed) {
    for (SumCall& call : calls) {
      Stream& stream = call.context->device()->communication();
      auto mine = std::make_shared<SumCall>(std::move(call));
      stream.run([mine, ranks, failed, group] {
        Status status = sum_on_stream(*mine, ranks->rank(mine->rank), group);
        if (!status.ok()) *failed = true;
        finish(*mine, std::move(status));
      });
    }
  });
}

void Meeting::arrive(SumCall call) {
  Cancellation* const cancellation = call.context->step() ? &call.context->step()->cancellation() : nullptr;
  const int rank = call.rank, size = call.size;
  std::vector<SumCall> complete;
  Cancellation::Token token = 0;
  std::int64_t opened = -1;
  {
    MutexLock lock(mutex_);
    auto round = std::find_if(rounds_.begin(), rounds_.end(), [&](const Round& r) {
      return rank < static_cast<int>(r.calls.size()) && !r.calls[rank].has_value();
    });
    if (round == rounds_.end()) {
      rounds_.push_back({.calls = std::vector<std::optional<SumCall>>(size), .id = next_round_++});
      round = std::prev(rounds_.end());
      opened = round->id;
    }
    round->calls[rank] = std::move(call);
    if (++round->arrived == static_cast<int>(round->calls.size())) {
      for (auto& each : round->calls) complete.push_back(std::move(*each));
      token = round->token;
      rounds_.erase(round);
    }
  }
  if (!complete.empty()) {
    if (token != 0) cancellation->remove(token);
    Exchange how = exchange;
    for (const SumCall& each : complete) {
      if (each.exchange != nullptr) how = each.exchange;
    }
    how(std::move(complete), group_);
    return;
  }
  if (opened < 0 || cancellation == nullptr) return;
  // The round may be complete, or cancelled, before its callback is known to it: then nobody needs the callback.
  const bool added = cancellation->add(
      [self = shared_from_this(), opened, cancellation] { self->cancel(opened, cancellation->status()); }, &token);
  if (!added) return cancel(opened, cancellation->status());
  MutexLock lock(mutex_);
  for (Round& round : rounds_) {
    if (round.id == opened) round.token = token;
  }
}

void Meeting::cancel(std::int64_t id, const Status& reason) {
  std::vector<SumCall> waiting;
  {
    MutexLock lock(mutex_);
    const auto round = std::find_if(rounds_.begin(), rounds_.end(), [&](const Round& r) { return r.id == id; });
    if (round == rounds_.end()) return;
    for (auto& call : round->calls) {
      if (call) waiting.push_back(std::move(*call));
    }
    rounds_.erase(round);
  }
  for (SumCall& call : waiting) call.give_up(reason);
}

}  // namespace argosy
