// The launch queue of a CUDA device (argosy/device/device.h), and copies between any two memories.
#pragma once

#include "argosy/device/cuda/cuda_device.h"
#include "argosy/device/cuda/device_core.h"
#include "argosy/device/cuda/links.h"
#include "argosy/device/graph_capturer.h"

namespace argosy::cuda {

class Queue final : public LaunchQueue, public GraphCapturer {
 public:
  Queue(std::shared_ptr<DeviceCore> core, std::shared_ptr<Links> links)
      : core_(std::move(core)), links_(std::move(links)) {}

  Result<Event> record() override;
  Status wait(const Event& event) override;
  Result<Event> copy_in(const Buffer& to, const Buffer& from) override;
  Result<Event> copy_out(const Buffer& to, const Buffer& from) override;
  Status failure() const override { return core_->broken(); }
  Status finish(Cancellation* cancellation) override;

  Status begin() override;
  Result<std::unique_ptr<CapturedGraph>> end(std::unique_ptr<CapturedGraph> last) override;
  void give_up() override;
  Status replay(const CapturedGraph& captured) override;

  // Between any two memories, after all that was started; done when it returns. Any thread.
  Status copy_now(void* to, const void* from, std::size_t bytes);
  // Host to this device, in order with what is started; `from` is free again when it returns.
  Status upload(void* to, const void* from, std::size_t bytes);

  // For collectives, which work on streams of their own.
  const std::shared_ptr<DeviceCore>& core() const { return core_; }
  const std::shared_ptr<Links>& links() const { return links_; }

  // What a pointer points to: a GPU's number, or -1 for the host's memory; `pinned` where the driver knows that.
  CuDevice gpu_of(const void* pointer, bool* pinned = nullptr) const;

 private:
  Status start_copy_in(void* to, const void* from, std::size_t bytes, CuStream stream);
  Status send(CuPointer to, std::byte* staging, std::size_t bytes, CuStream stream);
  // To memory that is not pinned; done when it returns.
  Status copy_out_pieces(std::byte* to, CuPointer from, std::size_t bytes, CuStream stream);
  // The copy stream comes after what was started on the compute stream until now.
  Status after_compute();
  Result<Event> reached_on(CuStream stream);

  const std::shared_ptr<DeviceCore> core_;
  const std::shared_ptr<Links> links_;
  Mutex mutex_;
  // Of the last copy_in(), until the compute stream comes after it, and so after those before.
  Event unwaited_ ARGOSY_GUARDED_BY(mutex_);
};

inline const std::shared_ptr<DeviceCore>& core_of(CudaDevice& device) {
  return static_cast<Queue*>(device.launch_queue())->core();
}
inline const std::shared_ptr<Links>& links_of(CudaDevice& device) {
  return static_cast<Queue*>(device.launch_queue())->links();
}

}  // namespace argosy::cuda
