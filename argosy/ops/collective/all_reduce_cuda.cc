// Kernels of collectives among GPUs.
#include "argosy/comm/native_gpu/gpu_group.h"
#include "argosy/ops/collective/async_launch_kernel.h"
#include "argosy/ops/collective/collective_node.h"

namespace argosy {

namespace {

using cuda::CudaDevice;
using cuda::GpuGroup;

CudaDevice* gpu_of(Device* device) {
  return device == nullptr ? nullptr : dynamic_cast<CudaDevice*>(&device->physical());
}

class GpuCollective final : public AsyncLaunchKernel {
 public:
  explicit GpuCollective(const KernelInit& init) : node_(init) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    auto kernel = std::make_unique<GpuCollective>(init);
    if (kernel->node_.divides()) return unimplemented("of a GPU's results only sums are divided by the group's size");
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  void start(KernelContext& c, Started started) override {
    node_.start(c, &cuda::gpu_group_backend(), std::move(started));
  }

  std::string describe(std::span<Device* const> group) const override {
    std::vector<CudaDevice*> devices;
    std::vector<std::string> names;
    for (Device* const device : group) {
      devices.push_back(gpu_of(device));
      names.push_back(device->spec().name.short_string());
    }
    if (const int ranks = node_.ranks_over_tasks(); ranks > 0) {
      const cuda::CollectiveChoice choice = GpuGroup::choose_over_tasks(devices, ranks, node_.deterministic());
      return str_cat("collectives of ", str_join(names), " with other tasks: ",
                     choice.backend != cuda::CollectiveBackend::kNccl ? str_cat("by the hosts (", choice.reason, ")")
                     : node_.one_shard_a_rank() ? "sums by NCCL where all tasks have it, the rest by the hosts"
                                                : "by the hosts (several shards a GPU)");
    }
    if (!node_.one_shard_a_rank() &&
        GpuGroup::choose(devices, node_.deterministic()).backend == cuda::CollectiveBackend::kNccl) {
      return str_cat("collectives of ", str_join(names), ": our own (several shards a GPU)");
    }
    return str_cat("collectives of ", str_join(names), ": ", GpuGroup::describe(devices, node_.deterministic()));
  }

 private:
  const CollectiveNode node_;
};

}  // namespace

void add_kernels_cuda_all_reduce(KernelRegistry& kernels) {
  using enum DType;
  // int32 values are in host memory, where the CPU's kernel sums them.
  std::vector<DType> numbers = {kFloat32, kFloat64, kFloat16, kBfloat16, kInt8,      kInt16,     kInt64,
                                kUint8,   kUint16,  kUint32,  kUint64,   kComplex64, kComplex128};
  for (const char* op : {"_AllReduce", "_ReduceScatter"})
    kernels.add(op, "cuda", GpuCollective::make, {{"T", numbers}});
  std::vector<DType> moved = numbers;
  moved.push_back(kBool);
  for (const char* op : {"_AllGather", "_AllToAll", "_AllGatherVariables", "_ResourceAllGatherVariables"}) {
    kernels.add(op, "cuda", GpuCollective::make, {{"T", moved}});
  }
  for (const char* op :
       {"NcclAllReduce", "CollectiveReduce", "CollectiveReduceV2", "CollectiveGather", "CollectiveGatherV2",
        "CollectiveBcastSend", "CollectiveBcastSendV2", "CollectiveBcastRecv", "CollectiveBcastRecvV2"}) {
    kernels.add(op, "cuda", GpuCollective::make, {{"T", {kFloat32, kFloat64, kFloat16, kBfloat16, kInt64}}});
  }
}

}  // namespace argosy
