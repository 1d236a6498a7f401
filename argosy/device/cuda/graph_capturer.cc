// CUDA graphs: the implementation of argosy/device/graph_capturer.h.
#include "argosy/device/cuda/cuda_launch_queue.h"

namespace argosy::cuda {

namespace {

class CudaCapturedGraph final : public CapturedGraph {
 public:
  CudaCapturedGraph(std::shared_ptr<DeviceCore> core, CuGraphExec exec, DeviceMemory::EndedCapture capture, bool fits)
      : core_(std::move(core)), exec_(exec), capture_(std::move(capture)), fits_(fits) {}
  ~CudaCapturedGraph() override {
    // The graph may still run. The driver destroys it when it has ended, and its memory is freed in stream order. So
    // nothing waits here, which matters during another capture.
    if (core_->hangs()) return;
    core_->driver()->cuGraphExecDestroy(exec_);
    core_->memory().free_all(capture_.replayed);
  }
  CuGraphExec exec() const { return exec_; }
  bool fits() const override { return fits_; }
  void keep(DeviceMemory::EndedCapture capture, bool fits) {
    core_->memory().free_all(capture_.replayed);
    capture_ = std::move(capture);
    fits_ = fits;
  }
  // Frees the memory that only this replay reads, in stream order.
  void was_replayed() { core_->memory().free_all(std::exchange(capture_.replayed, {})); }
  const DeviceCore* core() const { return core_.get(); }

 private:
  const std::shared_ptr<DeviceCore> core_;
  const CuGraphExec exec_;
  DeviceMemory::EndedCapture capture_;
  bool fits_;
};

}  // namespace

Status CudaLaunchQueue::begin() {
  ARGOSY_RETURN_IF_ERROR(core_->open());
  core_->memory().claim_compute_thread();
  return core_->memory().begin_capture();
}

void CudaLaunchQueue::abort_capture() {
  DeviceMemory::EndedCapture capture;
  const auto graph = core_->memory().end_capture(&capture);
  if (graph.ok() && *graph != nullptr) core_->driver()->cuGraphDestroy(*graph);
  core_->memory().free_all(capture.replayed);
}

Result<std::unique_ptr<CapturedGraph>> CudaLaunchQueue::end(std::unique_ptr<CapturedGraph> last) {
  const DriverCalls& cu = *core_->driver().operator->();
  DeviceMemory::EndedCapture capture;
  const auto ended = core_->memory().end_capture(&capture);
  if (!ended.ok()) {
    core_->memory().free_all(capture.replayed);
    return ended.status();
  }
  const CuGraph graph = *ended;
  const MemoryStats stats = core_->memory().stats();
  const bool fits = stats.limit_bytes == 0 || stats.in_use_bytes <= stats.limit_bytes;
  auto* const old = dynamic_cast<CudaCapturedGraph*>(last.get());
  if (old != nullptr && old->core() == core_.get()) {
    CuUpdateInfo info;
    if (cu.cuGraphExecUpdate_v2(old->exec(), graph, &info) == kCuSuccess) {
      cu.cuGraphDestroy(graph);
      // Running replays continue unchanged. The memory they used until now is freed in the order of the stream.
      old->keep(std::move(capture), fits);
      return last;
    }
  }
  CuGraphExec exec = nullptr;
  Status made = core_->check(cu.cuGraphInstantiateWithFlags(&exec, graph, 0), "cuGraphInstantiate");
  cu.cuGraphDestroy(graph);
  if (!made.ok()) {
    core_->memory().free_all(capture.replayed);
    return made;
  }
  return std::unique_ptr<CapturedGraph>(std::make_unique<CudaCapturedGraph>(core_, exec, std::move(capture), fits));
}

Status CudaLaunchQueue::replay(CapturedGraph& captured) {
  ARGOSY_RETURN_IF_ERROR(core_->open());
  auto& graph = static_cast<CudaCapturedGraph&>(captured);
  Status status = core_->check(core_->driver()->cuGraphLaunch(graph.exec(), core_->compute()), "cuGraphLaunch");
  graph.was_replayed();
  return status;
}

}  // namespace argosy::cuda
