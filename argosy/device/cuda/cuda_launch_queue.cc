#include "argosy/device/cuda/cuda_launch_queue.h"

#include <algorithm>
#include <cstring>
#include <deque>

#include "argosy/device/copy.h"

namespace argosy::cuda {

namespace {

// Copies from and to memory that is not pinned, of more than some of these: a piece is copied by the host while others
// are on their way.
constexpr std::size_t kPiece = std::size_t{8} << 20;
constexpr std::size_t kMostPieces = 8;                      // on their way
constexpr std::size_t kMostInOrder = std::size_t{1} << 20;  // a guess, no GPU has been asked

CuPointer address(const void* p) { return reinterpret_cast<CuPointer>(p); }

// A copy to the host by way of pinned memory: it is there once somebody has waited for it.
class CopyOut final : public CudaEvent {
 public:
  CopyOut(std::shared_ptr<DeviceCore> core, CuEvent event, std::byte* staging, Buffer to, std::size_t bytes)
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

CuDevice Queue::gpu_of(const void* pointer, bool* pinned) const {
  const DriverCalls& cu = *core_->driver().operator->();
  int type = 0, gpu = -1;
  const bool known = cu.cuPointerGetAttribute(&type, kCuPointerMemoryType, address(pointer)) == kCuSuccess;
  if (pinned != nullptr) *pinned = known && type == kCuMemoryTypeHost;
  if (!known || type != kCuMemoryTypeDevice) return -1;
  return cu.cuPointerGetAttribute(&gpu, kCuPointerDeviceOrdinal, address(pointer)) == kCuSuccess ? gpu : -1;
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
  {
    MutexLock lock(mutex_);
    if (event.state() == unwaited_.state()) unwaited_ = Event();
  }
  if (&ours->core() == core_.get() && (ours->stream() == core_->compute() || ours->reached())) return {};
  ARGOSY_RETURN_IF_ERROR(core_->open());
  return core_->check(core_->driver()->cuStreamWaitEvent(core_->compute(), ours->event(), 0), "cuStreamWaitEvent");
}

Status Queue::after_compute() {
  ARGOSY_ASSIGN_OR_RETURN(const CuEvent event, core_->record(core_->compute()));
  const CuResult result = core_->driver()->cuStreamWaitEvent(core_->copies(), event, 0);
  core_->return_event(event);
  return core_->check(result, "cuStreamWaitEvent");
}

Status Queue::start_copy_in(void* to, const void* from, std::size_t bytes, CuStream stream) {
  bool pinned = false;
  const CuDevice gpu = gpu_of(from, &pinned);
  if (gpu >= 0) return links_->copy(*core_, address(to), gpu, address(from), bytes);
  const DriverCalls& cu = *core_->driver().operator->();
  // (On the compute stream it is an upload's, whose source may go at once.)
  if (pinned && stream == core_->copies()) {
    return core_->check(cu.cuMemcpyHtoDAsync_v2(address(to), from, bytes, stream), "cuMemcpyHtoDAsync");
  }
  if (stream == core_->compute() && core_->capturing_here()) {
    // Replays read the pinned memory again: it stays with what is captured.
    std::byte* const staging = core_->staging(bytes);
    if (staging == nullptr) return internal_error(bytes, " B cannot be uploaded in what is captured");
    copy_memory(staging, from, bytes);
    Status started = core_->check(cu.cuMemcpyHtoDAsync_v2(address(to), staging, bytes, stream), "cuMemcpyHtoDAsync");
    core_->keep_staging(staging);
    return started;
  }
  // Of memory that is not pinned the driver makes a copy of its own before it returns, after all that was started on
  // the stream; ours is made by several threads, while pieces before it are on their way, and needs no lock of the
  // driver's.
  const auto* const source = static_cast<const std::byte*>(from);
  const std::size_t most = bytes > 2 * kPiece ? kPiece : bytes;
  std::deque<CuEvent> under_way;
  Status status;
  for (std::size_t at = 0; at < bytes && status.ok(); at += most) {
    const std::size_t n = std::min(most, bytes - at);
    std::byte* const staging = core_->staging(n);
    if (staging == nullptr) {
      status =
          core_->check(cu.cuMemcpyHtoDAsync_v2(address(to) + at, source + at, bytes - at, stream), "cuMemcpyHtoDAsync");
      if (status.ok() && pinned) status = core_->check(cu.cuStreamSynchronize(stream), "cuStreamSynchronize");
      break;
    }
    copy_memory(staging, source + at, n);
    status = send(address(to) + at, staging, n, stream);
    if (!status.ok() || n == bytes) break;
    if (under_way.size() == kMostPieces) {
      status = core_->wait_on_host(under_way.front(), nullptr);
      core_->return_event(under_way.front());
      under_way.pop_front();
    }
    if (auto mark = core_->record(stream); mark.ok()) under_way.push_back(*mark);
  }
  for (const CuEvent event : under_way) core_->return_event(event);
  return status;
}

// From pinned memory, which is free again once it is through.
Status Queue::send(CuPointer to, std::byte* staging, std::size_t bytes, CuStream stream) {
  const CuResult result = core_->driver()->cuMemcpyHtoDAsync_v2(to, staging, bytes, stream);
  Status status = core_->check(result, "cuMemcpyHtoDAsync");
  Result<CuEvent> through = status.ok() ? core_->record(stream) : Result<CuEvent>(std::move(status));
  core_->staged(staging, through.ok() ? *through : nullptr);
  return through.status();
}

Status Queue::copy_out_pieces(std::byte* to, CuPointer from, std::size_t bytes, CuStream stream) {
  const DriverCalls& cu = *core_->driver().operator->();
  struct Piece {
    std::size_t at = 0, bytes = 0;
    std::byte* staging = nullptr;
    CuEvent there = nullptr;
  } last;
  const auto hand_over = [&]() -> Status {
    if (last.staging == nullptr) return {};
    ARGOSY_RETURN_IF_ERROR(core_->wait_on_host(last.there, nullptr));
    copy_memory(to + last.at, last.staging, last.bytes);
    core_->return_event(last.there);
    core_->drop_staging(std::exchange(last.staging, nullptr));
    return {};
  };
  for (std::size_t at = 0; at < bytes; at += kPiece) {
    Piece piece{.at = at, .bytes = std::min(kPiece, bytes - at)};
    piece.staging = core_->staging(piece.bytes);
    std::byte* const target = piece.staging != nullptr ? piece.staging : to + at;
    Status status = core_->check(cu.cuMemcpyDtoHAsync_v2(target, from + at, piece.bytes, stream), "cuMemcpyDtoHAsync");
    if (status.ok() && piece.staging != nullptr) {
      Result<CuEvent> there = core_->record(stream);
      status = there.status();
      if (there.ok()) piece.there = *there;
    }
    if (!status.ok()) {
      if (piece.staging != nullptr) core_->drop_staging(piece.staging);
      return status;
    }
    ARGOSY_RETURN_IF_ERROR(hand_over());
    last = piece;
  }
  return hand_over();
}

Result<Event> Queue::copy_in(const Buffer& to, const Buffer& from) {
  ARGOSY_RETURN_IF_ERROR(core_->open());
  if (from.bytes() == 0) return Event();
  // What is short is not worth two streams that wait for each other.
  if (from.bytes() <= kMostInOrder && !core_->capturing() && gpu_of(from.data()) < 0) {
    ARGOSY_RETURN_IF_ERROR(start_copy_in(to.data(), from.data(), from.bytes(), core_->compute()));
    return record();
  }
  ARGOSY_RETURN_IF_ERROR(after_compute());
  ARGOSY_RETURN_IF_ERROR(start_copy_in(to.data(), from.data(), from.bytes(), core_->copies()));
  ARGOSY_ASSIGN_OR_RETURN(Event there, reached_on(core_->copies()));
  MutexLock lock(mutex_);
  unwaited_ = there;
  return there;
}

Status Queue::upload(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return {};
  ARGOSY_RETURN_IF_ERROR(core_->open());
  if (core_->capturing() && !core_->capturing_here()) return copy_now(to, from, bytes);  // another thread's; beside it
  return start_copy_in(to, from, bytes, core_->compute());
}

Result<Event> Queue::copy_out(const Buffer& to, const Buffer& from) {
  ARGOSY_RETURN_IF_ERROR(core_->open());
  const std::size_t bytes = from.bytes();
  if (bytes == 0) return Event();
  if (bytes > DeviceCore::kMostStaging) {
    ARGOSY_RETURN_IF_ERROR(
        copy_out_pieces(static_cast<std::byte*>(to.data()), address(from.data()), bytes, core_->compute()));
    return Event();
  }
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
  // What other devices do with this one's memory goes by the communication streams. A copy that nothing computed comes
  // after (the step has failed before) must be over as well: its memory is lent again.
  CuStream copies = nullptr;
  {
    MutexLock lock(mutex_);
    if (std::exchange(unwaited_, Event()).state() != nullptr) copies = core_->copies();
  }
  for (const CuStream stream : {core_->compute(), copies, core_->used_communication()}) {
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
  const CuDevice target = gpu_of(to), source = gpu_of(from);
  if (target < 0 && source < 0) {
    copy_memory(to, from, bytes);
    return {};
  }
  bool pinned = false;
  if (target < 0 && bytes > kPiece && (gpu_of(to, &pinned), !pinned)) {
    ARGOSY_RETURN_IF_ERROR(copy_out_pieces(static_cast<std::byte*>(to), address(from), bytes, core_->copies()));
  } else if (target < 0) {
    ARGOSY_RETURN_IF_ERROR(
        core_->check(cu.cuMemcpyDtoHAsync_v2(to, address(from), bytes, core_->copies()), "cuMemcpyDtoHAsync"));
  } else {
    ARGOSY_RETURN_IF_ERROR(start_copy_in(to, from, bytes, core_->copies()));
  }
  return core_->check(cu.cuStreamSynchronize(core_->copies()), "cuStreamSynchronize");
}

}  // namespace argosy::cuda
