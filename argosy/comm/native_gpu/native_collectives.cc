#include <algorithm>

#include "argosy/comm/native_gpu/combine_launches.h"
#include "argosy/comm/native_gpu/gpu_collectives.h"
#include "argosy/comm/native_gpu/staged_copies.h"
#include "argosy/device/cuda/cuda_launch_queue.h"
#include "argosy/device/cuda/links.h"

namespace argosy::cuda {

namespace {

constexpr std::int64_t kGrain = 256;  // a rank's share ends on a boundary of so many elements

class NativeCollectives final : public GpuCollectives {
 public:
  explicit NativeCollectives(std::vector<CudaDevice*> devices)
      : devices_(std::move(devices)), streams_(devices_), links_(links_of(*devices_[0])) {}

  int size() const override { return streams_.size(); }
  std::string describe() const override {
    MutexLock lock(mutex_);
    return !tried_ ? "our own" : why_staged_.empty() ? "direct" : "by the host: " + why_staged_;
  }

  Result<std::vector<Event>> start(std::span<const CollectiveCall> calls, const std::shared_ptr<StepAbort>&) override {
    // Never two at once, of this group or another.
    MutexLock order(links_->collectives());
    MutexLock lock(mutex_);
    ARGOSY_RETURN_IF_ERROR(prepare(calls));
    ARGOSY_RETURN_IF_ERROR(job_.plan(calls));
    const RankMemory memory(calls);
    for (std::size_t i = 0; i < job_.parts().size(); ++i) {
      const CollectiveJob::Part& part = job_.parts()[i];
      if (part.bytes == 0) continue;
      if (!why_staged_.empty()) {
        ARGOSY_RETURN_IF_ERROR(staged_->add(job_, part, calls[0].reduction, memory));
      } else if (part.combine == nullptr) {
        ARGOSY_RETURN_IF_ERROR(copy_directly(part, memory));
      } else {
        ARGOSY_RETURN_IF_ERROR(combine_directly(part, calls[0].reduction, memory));
      }
    }
    for (RankLaunches& launches : launches_) ARGOSY_RETURN_IF_ERROR(launches.flush());
    if (calls[0].kind != Collective::kSend) return streams_.join();
    ARGOSY_ASSIGN_OR_RETURN(const Event received, streams_.mark(calls[1].rank));
    return std::vector<Event>(2, received);
  }

 private:
  Status prepare(std::span<const CollectiveCall> calls) ARGOSY_REQUIRES(mutex_) {
    ARGOSY_RETURN_IF_ERROR(streams_.open());
    if (!tried_) ARGOSY_RETURN_IF_ERROR(try_pairs());
    return streams_.wait_for(calls);
  }

  // Do all GPUs reach each other?
  Status try_pairs() ARGOSY_REQUIRES(mutex_) {
    for (int a = 0; a < size() && why_staged_.empty(); ++a) {
      for (int b = 0; b < size() && why_staged_.empty(); ++b) {
        std::string why;
        ARGOSY_ASSIGN_OR_RETURN(const bool reached, links_->reach(streams_.core(a), streams_.core(b), &why));
        if (!reached) why_staged_ = str_cat(streams_.core(b).owner(), " to ", streams_.core(a).owner(), ": ", why);
      }
    }
    for (int r = 0; r < size(); ++r) launches_.emplace_back(*devices_[static_cast<std::size_t>(r)], streams_.stream(r));
    if (!why_staged_.empty()) staged_ = std::make_unique<StagedCopies>(streams_, launches_);
    tried_ = true;
    return {};
  }

  // Every rank does its share of the elements; what only one rank wants, that one does.
  Status combine_directly(const CollectiveJob::Part& part, Reduction reduction, const RankMemory& memory)
      ARGOSY_REQUIRES(mutex_) {
    const auto n = static_cast<std::int64_t>(part.bytes / part.element_bytes);
    const int owner = part.outputs == 1 ? memory.rank_of(job_.outputs(part)[0]) : -1;
    const std::int64_t grains = (n + kGrain - 1) / kGrain;
    for (int r = 0; r < size(); ++r) {
      std::int64_t begin = std::min(n, grains * r / size() * kGrain);
      std::int64_t end = std::min(n, grains * (r + 1) / size() * kGrain);
      if (owner >= 0) std::tie(begin, end) = std::pair<std::int64_t, std::int64_t>(0, r == owner ? n : 0);
      if (begin >= end) continue;
      ARGOSY_RETURN_IF_ERROR(launches_[static_cast<std::size_t>(r)].combine(
          {part.dtype, reduction, part.order, job_.divisor()}, job_.inputs(part), job_.outputs(part), begin, end));
    }
    return {};
  }

  Status copy_directly(const CollectiveJob::Part& part, const RankMemory& memory) ARGOSY_REQUIRES(mutex_) {
    const std::byte* const from = job_.inputs(part)[0];
    for (std::byte* const to : job_.outputs(part)) {
      if (to == from) continue;
      ARGOSY_RETURN_IF_ERROR(copy(memory.rank_of(to), to, memory.rank_of(from), from, part.bytes));
    }
    return {};
  }

  // On the stream of the rank that receives.
  Status copy(int to_rank, void* to, int from_rank, const void* from, std::size_t bytes) {
    if (bytes == 0) return {};
    ARGOSY_RETURN_IF_ERROR(streams_.enter(to_rank));
    DeviceCore &here = streams_.core(to_rank), &there = streams_.core(from_rank);
    const DriverCalls& cu = *here.driver().operator->();
    const auto target = reinterpret_cast<CuPointer>(to), source = reinterpret_cast<CuPointer>(from);
    if (here.gpu() == there.gpu()) {
      return here.check(cu.cuMemcpyDtoDAsync_v2(target, source, bytes, streams_.stream(to_rank)), "cuMemcpyDtoDAsync");
    }
    return here.check(
        cu.cuMemcpyPeerAsync(target, here.context(), source, there.context(), bytes, streams_.stream(to_rank)),
        "cuMemcpyPeerAsync");
  }

  const std::vector<CudaDevice*> devices_;
  RankStreams streams_;
  const std::shared_ptr<Links> links_;
  mutable Mutex mutex_;
  bool tried_ ARGOSY_GUARDED_BY(mutex_) = false;
  std::string why_staged_ ARGOSY_GUARDED_BY(mutex_);
  CollectiveJob job_ ARGOSY_GUARDED_BY(mutex_);
  std::vector<RankLaunches> launches_ ARGOSY_GUARDED_BY(mutex_);
  std::unique_ptr<StagedCopies> staged_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace

std::shared_ptr<GpuCollectives> native_collectives(std::vector<CudaDevice*> devices) {
  return std::make_shared<NativeCollectives>(std::move(devices));
}

}  // namespace argosy::cuda
