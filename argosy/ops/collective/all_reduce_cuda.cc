// Collectives among GPUs.
#include "argosy/comm/native_gpu/gpu_group.h"
#include "argosy/op/kernel/step_context.h"
#include "argosy/ops/collective/collective_rendezvous.h"

namespace argosy {

namespace {

using cuda::CudaDevice;
using cuda::GpuGroup;

CudaDevice* gpu_of(Device* device) {
  return device == nullptr ? nullptr : dynamic_cast<CudaDevice*>(&device->physical());
}

// What the watcher of collectives that may hang has of a step: gone with it.
class StepAbortResource final : public Resource {
 public:
  explicit StepAbortResource(Cancellation& step) : step_abort(std::make_shared<cuda::StepAbort>(step)) {}
  ~StepAbortResource() override { step_abort->disarm(); }
  std::string describe() const override { return "abort of a step"; }
  const std::shared_ptr<cuda::StepAbort> step_abort;
};

// Some ranks are CPUs: everything passes through the host's memory, on this thread.
Status join_on_host(std::vector<CollectiveParticipant>& calls, const std::string& group) {
  std::vector<CollectiveParticipant> here;
  for (const CollectiveParticipant& call : calls) {
    CollectiveParticipant copy{.kind = call.kind,
                               .reduction = call.reduction,
                               .rank = call.rank,
                               .size = call.size,
                               .total = call.total,
                               .root = call.root,
                               .shards = call.shards};
    copy.context = call.context;
    CudaDevice* const gpu = call.exchange != nullptr ? gpu_of(call.context->device()) : nullptr;
    for (const Tensor& value : call.values) {
      copy.values.push_back(value);
      if (gpu == nullptr) continue;
      ARGOSY_ASSIGN_OR_RETURN(copy.values.back(), Tensor::allocate(value.dtype(), value.shape(), host_allocator()));
      ARGOSY_RETURN_IF_ERROR(
          cuda::bring_to_host(*gpu, copy.values.back().raw(), value.raw(), value.bytes(), call.ready));
    }
    for (const Tensor& result : call.results) {
      copy.results.push_back(result);
      if (gpu == nullptr) continue;
      ARGOSY_ASSIGN_OR_RETURN(copy.results.back(), Tensor::allocate(result.dtype(), result.shape(), host_allocator()));
    }
    here.push_back(std::move(copy));
  }
  ARGOSY_RETURN_IF_ERROR(do_here(here, group));
  for (std::size_t r = 0; r < calls.size(); ++r) {
    if (calls[r].exchange == nullptr) continue;
    for (std::size_t i = 0; i < here[r].results.size(); ++i) {
      const Tensor &to = calls[r].results[i], &from = here[r].results[i];
      ARGOSY_RETURN_IF_ERROR(
          cuda::bring_to_gpu(*gpu_of(calls[r].context->device()), to.raw(), from.raw(), to.bytes(), calls[r].ready));
    }
  }
  return ok_status();
}

Result<std::vector<Event>> start_exchange(std::vector<CollectiveParticipant>& calls, const std::string& group) {
  std::vector<CudaDevice*> devices;
  for (const CollectiveParticipant& call : calls) {
    devices.push_back(call.exchange != nullptr ? gpu_of(call.context->device()) : nullptr);
    if (devices.back() != nullptr) continue;
    ARGOSY_RETURN_IF_ERROR(join_on_host(calls, group));
    return std::vector<Event>(calls.size());
  }
  ARGOSY_ASSIGN_OR_RETURN(const CollectiveCalls asked, CollectiveCalls::of(calls, group));
  std::vector<Event> ready;
  for (const CollectiveParticipant& call : calls) ready.push_back(call.ready);
  std::shared_ptr<cuda::StepAbort> step_abort;
  if (StepContext* const step = calls[0].context->step(); step != nullptr) {
    ARGOSY_ASSIGN_OR_RETURN(const auto held, step->step_resources().find_or_make<StepAbortResource>(
                                                 "_collective", "step abort of GPUs", [&] {
                                                   return std::make_shared<StepAbortResource>(step->cancellation());
                                                 }));
    step_abort = held->step_abort;
  }
  return GpuGroup::of(devices)->start(asked.calls(), ready, calls[0].deterministic, std::move(step_abort));
}

void exchange_on_gpus(std::vector<CollectiveParticipant> calls, const std::string& group) {
  Result<std::vector<Event>> ends = start_exchange(calls, group);
  for (std::size_t r = 0; r < calls.size(); ++r) {
    CollectiveParticipant& call = calls[r];
    call.values.clear();
    call.results.clear();
    if (!ends.ok()) {
      call.give_up(ends.status());
    } else if (call.started) {
      call.started(std::move((*ends)[r]));
    } else {
      call.done(ok_status());
    }
  }
}

class InGroupOnGpu final : public AsyncLaunchKernel {
 public:
  explicit InGroupOnGpu(const KernelInit& init) : node_(init) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    auto kernel = std::make_unique<InGroupOnGpu>(init);
    if (kernel->node_.divides()) return unimplemented("of a GPU's results only sums are divided by the group's size");
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  void start(KernelContext& c, Started started) override {
    Result<CollectiveParticipant> call = node_.call(c);
    if (!call.ok()) return started(call.status());
    Result<Event> ready = c.device()->launch_queue()->record();
    if (!ready.ok()) return started(ready.status());
    call->ready = *std::move(ready);
    call->started = std::move(started);
    call->exchange = exchange_on_gpus;
    node_.join(*std::move(call));
  }

  std::string describe(std::span<Device* const> group) const override {
    std::vector<CudaDevice*> devices;
    std::vector<std::string> names;
    for (Device* const device : group) {
      devices.push_back(gpu_of(device));
      names.push_back(device->spec().name.short_string());
    }
    return str_cat("collectives of ", str_join(names), ": ", GpuGroup::describe(devices, node_.deterministic()));
  }

 private:
  const GroupNode node_;
};

}  // namespace

void add_kernels_cuda_all_reduce(KernelRegistry& kernels) {
  using enum DType;
  // Sums of int32 lie in the host's memory: the CPU's.
  kernels.add("_AllReduce", "cuda", InGroupOnGpu::make,
              {{"T",
                {kFloat32, kFloat64, kFloat16, kBfloat16, kInt8, kInt16, kInt64, kUint8, kUint16, kUint32, kUint64,
                 kComplex64, kComplex128}}});
  for (const char* op :
       {"NcclAllReduce", "CollectiveReduce", "CollectiveReduceV2", "CollectiveGather", "CollectiveGatherV2",
        "CollectiveBcastSend", "CollectiveBcastSendV2", "CollectiveBcastRecv", "CollectiveBcastRecvV2"}) {
    kernels.add(op, "cuda", InGroupOnGpu::make, {{"T", {kFloat32, kFloat64, kFloat16, kBfloat16, kInt64}}});
  }
}

}  // namespace argosy
