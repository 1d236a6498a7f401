// Which GPUs a collective is among; and collectives with ranks in the host's memory.
#include "argosy/comm/native_gpu/gpu_group.h"
#include "argosy/comm/native_gpu/rank_streams.h"
#include "argosy/comm/shared_memory/shared_job.h"

namespace argosy::cuda {

namespace {

CudaDevice* gpu_of(const CollectiveCall& call) {
  return call.device == nullptr ? nullptr : dynamic_cast<CudaDevice*>(&call.device->physical());
}

// A rank's call on copies of its tensors in the host's memory.
class HostCall {
 public:
  explicit HostCall(const CollectiveCall& call) : asked_(call), call_(call), gpu_(gpu_of(call)) {}

  Status bring() {
    if (gpu_ == nullptr) return {};
    const bool receives = asked_.kind == Collective::kRecv || (asked_.kind == Collective::kBroadcast && !is_root());
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
    return {};
  }

  Status bring_back() const {
    if (gpu_ == nullptr) return {};
    const bool in_place = asked_.kind == Collective::kAllReduce || asked_.kind == Collective::kRecv ||
                          (asked_.kind == Collective::kBroadcast && !is_root());
    const std::span<const Tensor> to = in_place ? asked_.tensors : asked_.out;
    const std::vector<Tensor>& from = in_place ? tensors_ : out_;
    for (std::size_t i = 0; i < to.size(); ++i) {
      ARGOSY_RETURN_IF_ERROR(bring_to_gpu(*gpu_, to[i].raw(), from[i].raw(), to[i].bytes(), asked_.ready));
    }
    return {};
  }

  const CollectiveCall& call() const { return call_; }

 private:
  bool is_root() const { return asked_.rank == asked_.root; }
  Status copy(std::span<const Tensor> there, bool values, std::vector<Tensor>& here) {
    for (const Tensor& t : there) {
      ARGOSY_ASSIGN_OR_RETURN(here.emplace_back(), Tensor::allocate(t.dtype(), t.shape(), host_allocator()));
      if (values) ARGOSY_RETURN_IF_ERROR(bring_to_host(*gpu_, here.back().raw(), t.raw(), t.bytes(), asked_.ready));
    }
    return {};
  }

  const CollectiveCall& asked_;
  CollectiveCall call_;
  CudaDevice* const gpu_;
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
