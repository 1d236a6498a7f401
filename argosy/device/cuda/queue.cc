#include "argosy/device/cuda/queue.h"

#include <cstring>

#include "argosy/device/copy.h"

namespace argosy::cuda {

namespace {

constexpr std::size_t kMostInOrder = std::size_t{1} << 20;  // a guess, no card has been asked

CuPointer address(const void* p) { return reinterpret_cast<CuPointer>(p); }

// A copy to the host by way of pinned memory: it is there once somebody has waited for it.
class CopyOut final : public CudaEvent {
 public:
  CopyOut(std::shared_ptr<Core> core, CuEvent event, std::byte* staging, Buffer to, std::size_t bytes)
      : CudaEvent(std::move(core), event), staging_(staging), to_(std::move(to)), bytes_(bytes) {}
  ~CopyOut() override {
    if (staging_ == nullptr) return;
    // Nobody wanted it, but it may be under way yet: what uses this memory next must come after it.
    const Status status = core_->wait_on_host(event_, nullptr);
    if (status.ok()) core_->drop_staging(staging_);
  }
  bool reached() const override {
    MutexLock lock(mutex_);
    return staging_ == nullptr;
  }
  void wait() override {
    CudaEvent::wait();
    MutexLock lock(mutex_);
    if (staging_ == nullptr) return;
    copy_memory(to_.data(), staging_, bytes_);
    core_->drop_staging(std::exchange(staging_, nullptr));
    to_ = Buffer();
  }

 private:
  mutable Mutex mutex_;
  std::byte* staging_;
  Buffer to_;
  const std::size_t bytes_;
};

}  // namespace

CuDevice Queue::card_of(const void* pointer, bool* pinned) const {
  const DriverCalls& cu = *core_->driver().operator->();
  int type = 0, card = -1;
  const bool known = cu.cuPointerGetAttribute(&type, kCuPointerMemoryType, address(pointer)) == kCuSuccess;
  if (pinned != nullptr) *pinned = known && type == kCuMemoryTypeHost;
  if (!known || type != kCuMemoryTypeDevice) return -1;
  return cu.cuPointerGetAttribute(&card, kCuPointerDeviceOrdinal, address(pointer)) == kCuSuccess ? card : -1;
}

Result<Event> Queue::reached_on(CuStream stream) {
  ARGOSY_ASSIGN_OR_RETURN(const CuEvent event, core_->record(stream));
  return Event(std::make_shared<CudaEvent>(core_, event, stream));
}

Result<Event> Queue::record() {
  ARGOSY_RETURN_IF_ERROR(core_->open());
  return reached_on(core_->compute());
}

Status Queue::wait(const Event& event) {
  if (event.state() == nullptr) return {};
  const auto* const ours = dynamic_cast<const CudaEvent*>(event.state().get());
  if (ours == nullptr) {
    event.state()->wait();
    return {};
  }
  if (&ours->core() == core_.get() && (ours->stream() == core_->compute() || ours->reached())) return {};
  ARGOSY_RETURN_IF_ERROR(core_->open());
  return core_->check(core_->driver()->cuStreamWaitEvent(core_->compute(), ours->event(), 0), "cuStreamWaitEvent");
}

// The copy stream comes after what was started on the compute stream until now.
Status Queue::after_compute() {
  ARGOSY_ASSIGN_OR_RETURN(const CuEvent event, core_->record(core_->compute()));
  const CuResult result = core_->driver()->cuStreamWaitEvent(core_->copies(), event, 0);
  core_->return_event(event);
  return core_->check(result, "cuStreamWaitEvent");
}

Status Queue::start_copy_in(void* to, const void* from, std::size_t bytes, CuStream stream) {
  bool pinned = false;
  const CuDevice card = card_of(from, &pinned);
  if (card >= 0) return links_->copy(*core_, address(to), card, address(from), bytes);
  const DriverCalls& cu = *core_->driver().operator->();
  // Of memory that is not pinned the driver makes a copy of its own before it returns; ours is made by several threads
  // and needs no lock of its.
  // (On the compute stream it is an upload's, whose source may go at once.)
  const bool stays = pinned && stream == core_->copies();
  std::byte* const staging = stays ? nullptr : core_->staging(bytes);
  const void* source = from;
  if (staging != nullptr) {
    copy_memory(staging, from, bytes);
    source = staging;
  }
  Status status = core_->check(cu.cuMemcpyHtoDAsync_v2(address(to), source, bytes, stream), "cuMemcpyHtoDAsync");
  if (core_->capturing() && stream == core_->compute()) {
    if (staging == nullptr)
      return status.ok() ? internal_error(bytes, " B cannot be uploaded in what is recorded") : status;
    core_->keep_staging(staging);
    return status;
  }
  if (staging == nullptr) {
    if (status.ok() && pinned && !stays) return core_->check(cu.cuStreamSynchronize(stream), "cuStreamSynchronize");
    return status;
  }
  Result<CuEvent> done = status.ok() ? core_->record(stream) : Result<CuEvent>(status);
  if (!done.ok()) {
    core_->drop_staging(staging);
    return std::move(done).status();
  }
  core_->staged(staging, *done);
  return {};
}

Result<Event> Queue::copy_in(const Buffer& to, const Buffer& from) {
  ARGOSY_RETURN_IF_ERROR(core_->open());
  if (from.bytes() == 0) return Event();
  // What is short is not worth two streams that wait for each other.
  if (from.bytes() <= kMostInOrder && card_of(from.data()) < 0) {
    ARGOSY_RETURN_IF_ERROR(start_copy_in(to.data(), from.data(), from.bytes(), core_->compute()));
    return record();
  }
  ARGOSY_RETURN_IF_ERROR(after_compute());
  ARGOSY_RETURN_IF_ERROR(start_copy_in(to.data(), from.data(), from.bytes(), core_->copies()));
  return reached_on(core_->copies());
}

Status Queue::upload(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return {};
  ARGOSY_RETURN_IF_ERROR(core_->open());
  return start_copy_in(to, from, bytes, core_->compute());
}

Result<Event> Queue::copy_out(const Buffer& to, const Buffer& from) {
  ARGOSY_RETURN_IF_ERROR(core_->open());
  const std::size_t bytes = from.bytes();
  if (bytes == 0) return Event();
  std::byte* const staging = core_->staging(bytes);
  void* const target = staging != nullptr ? staging : to.data();
  Status status =
      core_->check(core_->driver()->cuMemcpyDtoHAsync_v2(target, address(from.data()), bytes, core_->compute()),
                   "cuMemcpyDtoHAsync");
  Result<CuEvent> done = status.ok() ? core_->record(core_->compute()) : Result<CuEvent>(status);
  if (!done.ok()) {
    if (staging != nullptr) core_->drop_staging(staging);
    return std::move(done).status();
  }
  if (staging == nullptr) return Event(std::make_shared<CudaEvent>(core_, *done));
  return Event(std::make_shared<CopyOut>(core_, *done, staging, to, bytes));
}

Status Queue::finish(Cancellation* cancellation) {
  if (!core_->opened()) return core_->broken();
  ARGOSY_RETURN_IF_ERROR(core_->open());
  // What other devices do with this one's memory goes by the communication streams.
  for (const CuStream stream : {core_->compute(), core_->used_communication()}) {
    if (stream == nullptr) continue;
    ARGOSY_ASSIGN_OR_RETURN(const CuEvent event, core_->record(stream));
    Status status = core_->wait_on_host(event, cancellation);
    core_->return_event(event);
    if (!status.ok()) return status;
  }
  return core_->broken();
}

Status Queue::copy_now(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return {};
  ARGOSY_RETURN_IF_ERROR(core_->open());
  const DriverCalls& cu = *core_->driver().operator->();
  ARGOSY_RETURN_IF_ERROR(after_compute());
  const CuDevice target = card_of(to), source = card_of(from);
  if (target < 0 && source < 0) {
    copy_memory(to, from, bytes);
    return {};
  }
  if (target < 0) {
    ARGOSY_RETURN_IF_ERROR(
        core_->check(cu.cuMemcpyDtoHAsync_v2(to, address(from), bytes, core_->copies()), "cuMemcpyDtoHAsync"));
  } else {
    ARGOSY_RETURN_IF_ERROR(start_copy_in(to, from, bytes, core_->copies()));
  }
  return core_->check(cu.cuStreamSynchronize(core_->copies()), "cuStreamSynchronize");
}

}  // namespace argosy::cuda
