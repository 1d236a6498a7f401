// Which GPUs a collective is among; collectives with ranks in the host's memory, and with other tasks' GPUs.
#include <optional>

#include "argosy/comm/native_gpu/gpu_group.h"
#include "argosy/comm/native_gpu/rank_streams.h"
#include "argosy/comm/nccl/nccl_tasks.h"
#include "argosy/comm/shared_memory/shared_job.h"

namespace argosy::cuda {

namespace {

CudaDevice* gpu_of(const CollectiveCall& call) {
  return call.device == nullptr ? nullptr : dynamic_cast<CudaDevice*>(&call.device->physical());
}

class HostCall final : public StagedCall {
 public:
  explicit HostCall(const CollectiveCall& call) : asked_(call), call_(call), gpu_(gpu_of(call)) {}

  Status bring() {
    if (gpu_ == nullptr) return {};
    const bool receives = asked_.kind == Collective::kRecv || (asked_.kind == Collective::kBroadcast && !is_root());
    ARGOSY_RETURN_IF_ERROR(open());
    ARGOSY_RETURN_IF_ERROR(streams_->wait_for(std::span(&asked_.ready, 1)));
    ARGOSY_RETURN_IF_ERROR(copy(asked_.tensors, !receives, tensors_));
    // A result that is one of the rank's own inputs gets a copy of its own.
    ARGOSY_RETURN_IF_ERROR(copy(asked_.out, false, out_));
    shards_.resize(asked_.shards.size());
    for (std::size_t s = 0; s < shards_.size(); ++s) {
      ARGOSY_RETURN_IF_ERROR(copy(asked_.shards[s].tensors, true, shards_[s]));
      shard_list_.push_back({asked_.shards[s].index, shards_[s]});
    }
    call_.tensors = tensors_;
    call_.out = out_;
    call_.shards = shard_list_;
    return wait();
  }

  Status bring_back() const override {
    if (gpu_ == nullptr) return {};
    const bool in_place = asked_.kind == Collective::kAllReduce || asked_.kind == Collective::kRecv ||
                          (asked_.kind == Collective::kBroadcast && !is_root());
    const std::span<const Tensor> to = in_place ? asked_.tensors : asked_.out;
    const std::vector<Tensor>& from = in_place ? tensors_ : out_;
    ARGOSY_RETURN_IF_ERROR(open());
    DeviceCore& core = streams_->core(0);
    for (std::size_t i = 0; i < to.size(); ++i) {
      if (to[i].bytes() == 0) continue;
      ARGOSY_RETURN_IF_ERROR(
          core.check(core.driver()->cuMemcpyHtoDAsync_v2(reinterpret_cast<CuPointer>(to[i].raw()), from[i].raw(),
                                                         to[i].bytes(), streams_->stream(0)),
                     "cuMemcpyHtoDAsync"));
    }
    return wait();
  }

  const CollectiveCall& call() const override { return call_; }

 private:
  bool is_root() const { return asked_.rank == asked_.root; }
  // Streams of the rank's device; the thread's context is its own.
  Status open() const {
    if (!streams_) streams_.emplace(std::span(&gpu_, 1));
    ARGOSY_RETURN_IF_ERROR(streams_->open());
    return streams_->enter(0);
  }
  Status wait() const {
    DeviceCore& core = streams_->core(0);
    return core.check(core.driver()->cuStreamSynchronize(streams_->stream(0)), "cuStreamSynchronize");
  }
  // Pinned where the system gives that: the driver copies it directly.
  Result<Tensor> host_tensor(const Tensor& like) const {
    const std::shared_ptr<DeviceCore>& core = streams_->shared_core(0);
    std::byte* const block = like.bytes() > 0 ? core->pinned().take(like.bytes()) : nullptr;
    if (block == nullptr) return Tensor::allocate(like.dtype(), like.shape(), host_allocator());
    const std::shared_ptr<void> owner(block, [core](void* p) { core->pinned().put(static_cast<std::byte*>(p)); });
    return Tensor(like.dtype(), like.shape(), Buffer(owner, block, like.bytes()));
  }
  Status copy(std::span<const Tensor> there, bool values, std::vector<Tensor>& here) {
    DeviceCore& core = streams_->core(0);
    for (const Tensor& t : there) {
      ARGOSY_ASSIGN_OR_RETURN(here.emplace_back(), host_tensor(t));
      if (!values || t.bytes() == 0) continue;
      ARGOSY_RETURN_IF_ERROR(
          core.check(core.driver()->cuMemcpyDtoHAsync_v2(here.back().raw(), reinterpret_cast<CuPointer>(t.raw()),
                                                         t.bytes(), streams_->stream(0)),
                     "cuMemcpyDtoHAsync"));
    }
    return {};
  }

  const CollectiveCall& asked_;
  CollectiveCall call_;
  CudaDevice* const gpu_;
  mutable std::optional<RankStreams> streams_;
  std::vector<Tensor> tensors_, out_;
  std::vector<std::vector<Tensor>> shards_;
  std::vector<Shard> shard_list_;
};

Status start_on_host(std::span<const CollectiveCall> calls) {
  std::vector<std::unique_ptr<HostCall>> here;
  std::vector<CollectiveCall> asked;
  for (const CollectiveCall& call : calls) {
    here.push_back(std::make_unique<HostCall>(call));
    ARGOSY_RETURN_IF_ERROR(here.back()->bring());
    asked.push_back(here.back()->call());
  }
  SharedJob job;
  ARGOSY_RETURN_IF_ERROR(job.plan(asked));
  job.work_alone();
  for (const auto& each : here) ARGOSY_RETURN_IF_ERROR(each->bring_back());
  return {};
}

class GpuGroupBackend final : public GroupBackend {
 public:
  Result<std::unique_ptr<StagedCall>> copy_to_host(const CollectiveCall& call) override {
    auto copies = std::make_unique<HostCall>(call);
    ARGOSY_RETURN_IF_ERROR(copies->bring());
    return std::unique_ptr<StagedCall>(std::move(copies));
  }
  std::unique_ptr<SpanningBackend> over_tasks(std::span<const CollectiveCall> calls,
                                              const SpanningRanks& ranks) override {
    std::vector<CudaDevice*> devices;
    for (const CollectiveCall& call : calls) {
      devices.push_back(gpu_of(call));
      if (devices.back() == nullptr) return nullptr;
    }
    return std::make_unique<NcclTasks>(std::move(devices), ranks, !calls[0].any_order);
  }
  Result<std::vector<Event>> start(std::span<const CollectiveCall> calls,
                                   const std::shared_ptr<StepAbort>& step_abort) override {
    std::vector<CudaDevice*> devices;
    for (const CollectiveCall& call : calls) {
      devices.push_back(gpu_of(call));
      if (devices.back() != nullptr) continue;
      ARGOSY_RETURN_IF_ERROR(start_on_host(calls));
      return std::vector<Event>(calls.size());
    }
    if (calls[0].kind != Collective::kSend) return GpuGroup::of(devices)->start(calls, step_abort);
    // A message is the two ranks' own matter.
    CollectiveCall message[] = {calls[0], calls[1]};
    message[0].rank = message[1].peer = 0;
    message[1].rank = message[0].peer = 1;
    return GpuGroup::of(devices)->start(message, step_abort);
  }
};

}  // namespace

GroupBackend& gpu_group_backend() {
  static GpuGroupBackend backend;
  return backend;
}

}  // namespace argosy::cuda
