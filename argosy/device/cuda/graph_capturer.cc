// CUDA graphs: the implementation of argosy/device/graph_capturer.h.
#include "argosy/device/cuda/cuda_launch_queue.h"

namespace argosy::cuda {

namespace {

class CudaCapturedGraph final : public CapturedGraph {
 public:
  CudaCapturedGraph(std::shared_ptr<DeviceCore> core, CuGraphExec exec, std::vector<Buffer> memory, bool fits)
      : core_(std::move(core)), exec_(exec), memory_(std::move(memory)), fits_(fits) {}
  ~CudaCapturedGraph() override {
    // The graph may still run: the driver destroys it when it has ended, and its memory is freed in the order of the
    // stream. So nobody waits here, least of all during another capture.
    if (!core_->hangs()) core_->driver()->cuGraphExecDestroy(exec_);
  }
  CuGraphExec exec() const { return exec_; }
  bool fits() const override { return fits_; }
  void keep(std::vector<Buffer> memory, bool fits) {
    memory_ = std::move(memory);
    fits_ = fits;
  }
  const DeviceCore* core() const { return core_.get(); }

 private:
  const std::shared_ptr<DeviceCore> core_;
  const CuGraphExec exec_;
  std::vector<Buffer> memory_;
  bool fits_;
};

}  // namespace

Status CudaLaunchQueue::begin() {
  ARGOSY_RETURN_IF_ERROR(core_->open());
  core_->memory().claim_compute_thread();
  return core_->memory().begin_capture();
}

void CudaLaunchQueue::give_up() {
  std::vector<Buffer> memory;
  const auto graph = core_->memory().end_capture(&memory);
  if (graph.ok() && *graph != nullptr) core_->driver()->cuGraphDestroy(*graph);
}

Result<std::unique_ptr<CapturedGraph>> CudaLaunchQueue::end(std::unique_ptr<CapturedGraph> last) {
  const DriverCalls& cu = *core_->driver().operator->();
  std::vector<Buffer> memory;
  ARGOSY_ASSIGN_OR_RETURN(const CuGraph graph, core_->memory().end_capture(&memory));
  const MemoryStats stats = core_->memory().stats();
  const bool fits = stats.limit_bytes == 0 || stats.in_use_bytes <= stats.limit_bytes;
  auto* const old = dynamic_cast<CudaCapturedGraph*>(last.get());
  if (old != nullptr && old->core() == core_.get()) {
    CuUpdateInfo info;
    if (cu.cuGraphExecUpdate_v2(old->exec(), graph, &info) == kCuSuccess) {
      cu.cuGraphDestroy(graph);
      // Running replays continue unchanged. The memory they used until now is freed in the order of the stream.
      old->keep(std::move(memory), fits);
      return last;
    }
  }
  CuGraphExec exec = nullptr;
  Status made = core_->check(cu.cuGraphInstantiateWithFlags(&exec, graph, 0), "cuGraphInstantiate");
  cu.cuGraphDestroy(graph);
  ARGOSY_RETURN_IF_ERROR(std::move(made));
  return std::unique_ptr<CapturedGraph>(std::make_unique<CudaCapturedGraph>(core_, exec, std::move(memory), fits));
}

Status CudaLaunchQueue::replay(const CapturedGraph& captured) {
  ARGOSY_RETURN_IF_ERROR(core_->open());
  const auto& graph = static_cast<const CudaCapturedGraph&>(captured);
  return core_->check(core_->driver()->cuGraphLaunch(graph.exec(), core_->compute()), "cuGraphLaunch");
}

}  // namespace argosy::cuda
