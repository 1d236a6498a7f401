// Kernels of collectives on tensors in the host's memory.
#include "argosy/ops/collective/collective_node.h"

namespace argosy {

namespace {

class HostCollective final : public AsyncKernel {
 public:
  explicit HostCollective(const KernelInit& init) : node_(init) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<HostCollective>(init));
  }
  void run_async(KernelContext& c, Done done) override {
    node_.start(c, nullptr, [done = std::move(done)](Result<Event> end) { done(end.status()); });
  }

 private:
  const CollectiveNode node_;
};

}  // namespace

void add_kernels_cpu_all_reduce(KernelRegistry& kernels) {
  for (const char* op :
       {"_AllReduce", "_ReduceScatter", "_AllGather", "_AllToAll", "_AllGatherVariables", "_ResourceAllGatherVariables",
        "NcclAllReduce", "CollectiveReduce", "CollectiveReduceV2", "CollectiveGather", "CollectiveGatherV2",
        "CollectiveBcastSend", "CollectiveBcastSendV2", "CollectiveBcastRecv", "CollectiveBcastRecvV2"}) {
    kernels.add(op, "cpu", HostCollective::make);
  }
}

}  // namespace argosy
