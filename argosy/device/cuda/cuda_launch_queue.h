// CudaLaunchQueue: the launch queue of a CUDA device (argosy/device/device.h), which can also capture and replay graphs
// (argosy/device/graph_capturer.h).
#pragma once

#include "argosy/device/cuda/cuda_device.h"
#include "argosy/device/cuda/device_core.h"
#include "argosy/device/cuda/host_copies.h"
#include "argosy/device/cuda/links.h"
#include "argosy/device/graph_capturer.h"

namespace argosy::cuda {

class CudaLaunchQueue final : public LaunchQueue, public GraphCapturer {
 public:
  CudaLaunchQueue(std::shared_ptr<DeviceCore> core, std::shared_ptr<Links> links)
      : core_(std::move(core)), links_(std::move(links)), host_copies_(core_, links_) {}

  Result<Event> record() override;
  Status wait(const Event& event) override;
  Result<Event> copy_in(const Buffer& to, const Buffer& from) override;
  Result<Event> copy_out(const Buffer& to, const Buffer& from) override;
  Status failure() const override { return core_->broken(); }
  Status finish(Cancellation* cancellation) override;

  Status begin() override;
  Result<std::unique_ptr<CapturedGraph>> end(std::unique_ptr<CapturedGraph> last) override;
  void abort_capture() override;
  Status replay(CapturedGraph& captured) override;

  // Copies between any two memories after all enqueued work. The copy is done at the return. Any thread.
  Status copy_now(void* to, const void* from, std::size_t bytes);
  // Copies from the host to this device, in order with enqueued work. The caller may reuse `from` at the return.
  Status upload(void* to, const void* from, std::size_t bytes);

  // For collectives, which use streams of their own.
  const std::shared_ptr<DeviceCore>& core() const { return core_; }
  const std::shared_ptr<Links>& links() const { return links_; }

 private:
  // Makes the copy stream wait for all work enqueued on the compute stream so far.
  Status after_compute();
  Result<Event> reached_on(CuStream stream);

  const std::shared_ptr<DeviceCore> core_;
  const std::shared_ptr<Links> links_;
  HostCopies host_copies_;
  Mutex mutex_;
  // The event of the last copy_in(), until the compute stream waits for it and so for all earlier ones.
  Event unwaited_ ARGOSY_GUARDED_BY(mutex_);
};

inline const std::shared_ptr<DeviceCore>& core_of(CudaDevice& device) {
  return static_cast<CudaLaunchQueue*>(device.launch_queue())->core();
}
inline const std::shared_ptr<Links>& links_of(CudaDevice& device) {
  return static_cast<CudaLaunchQueue*>(device.launch_queue())->links();
}

}  // namespace argosy::cuda
