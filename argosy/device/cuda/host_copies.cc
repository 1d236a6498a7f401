#include "argosy/device/cuda/host_copies.h"

#include <algorithm>
#include <cstring>
#include <deque>

#include "argosy/device/copy.h"

namespace argosy::cuda {

namespace {

// A copy of pageable memory above this size goes in pieces: the host copies one piece while others are under way.
constexpr std::size_t kPiece = std::size_t{8} << 20;
constexpr std::size_t kMostPieces = 8;  // under way at once

CuPointer address(const void* p) { return reinterpret_cast<CuPointer>(p); }

// A copy to the host through pinned memory. wait() copies the data to their place; before it reached() is false.
class CopyOut final : public CudaEvent {
 public:
  CopyOut(std::shared_ptr<DeviceCore> core, CuEvent event, std::byte* staging, Buffer to, std::size_t bytes)
      : CudaEvent(std::move(core), event), staging_(staging), to_(std::move(to)), bytes_(bytes) {}
  ~CopyOut() override {
    if (staging_ == nullptr) return;
    // Nobody waited for it, but it may still run: the staging memory is free only after it.
    const Status status = core_->wait_on_host(event_, nullptr);
    if (status.ok()) core_->pinned().put(staging_);
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
    core_->pinned().put(std::exchange(staging_, nullptr));
    to_ = Buffer();
  }

 private:
  mutable Mutex mutex_;
  std::byte* staging_;
  Buffer to_;
  const std::size_t bytes_;
};

}  // namespace

CuDevice HostCopies::gpu_of(const void* pointer, bool* pinned) const {
  const DriverCalls& cu = *core_->driver().operator->();
  unsigned type = 0;
  int gpu = -1;
  // The plural is no error for memory that the driver does not know: the type stays 0.
  int attributes[] = {kCuPointerMemoryType, kCuPointerDeviceOrdinal};
  void* values[] = {&type, &gpu};
  const bool known = cu.cuPointerGetAttributes(2, attributes, values, address(pointer)) == kCuSuccess;
  if (pinned != nullptr) *pinned = known && type == kCuMemoryTypeHost;
  return known && type == kCuMemoryTypeDevice ? gpu : -1;
}

Status HostCopies::copy_in(void* to, const void* from, std::size_t bytes, CuStream stream) {
  bool pinned = false;
  const CuDevice gpu = gpu_of(from, &pinned);
  if (gpu >= 0) return links_->copy(*core_, address(to), gpu, address(from), bytes);
  const DriverCalls& cu = *core_->driver().operator->();
  // On the compute stream this is an upload, whose caller may free the source at once.
  if (pinned && stream == core_->copies()) {
    return core_->check(cu.cuMemcpyHtoDAsync_v2(address(to), from, bytes, stream), "cuMemcpyHtoDAsync");
  }
  if (stream == core_->compute() && core_->memory().capturing_here()) {
    // Every replay reads the staging memory again: it stays with the captured graph.
    std::byte* const staging = core_->pinned().take(bytes);
    if (staging == nullptr) return internal_error(bytes, " B cannot be uploaded in what is captured");
    copy_memory(staging, from, bytes);
    Status started = core_->check(cu.cuMemcpyHtoDAsync_v2(address(to), staging, bytes, stream), "cuMemcpyHtoDAsync");
    core_->memory().keep_pinned(staging);
    return started;
  }
  // Pageable memory. The driver would make a copy itself before it returns, after all work of the stream. Ours uses
  // several threads, overlaps with the pieces before it, and needs no lock of the driver.
  const auto* const source = static_cast<const std::byte*>(from);
  const std::size_t most = bytes > 2 * kPiece ? kPiece : bytes;
  std::deque<CuEvent> under_way;
  Status status;
  for (std::size_t at = 0; at < bytes && status.ok(); at += most) {
    const std::size_t n = std::min(most, bytes - at);
    std::byte* const staging = core_->pinned().take(n);
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

// Copies from staging memory and gives it back for reuse after the copy.
Status HostCopies::send(CuPointer to, std::byte* staging, std::size_t bytes, CuStream stream) {
  const CuResult result = core_->driver()->cuMemcpyHtoDAsync_v2(to, staging, bytes, stream);
  Status status = core_->check(result, "cuMemcpyHtoDAsync");
  Result<CuEvent> through = status.ok() ? core_->record(stream) : Result<CuEvent>(std::move(status));
  core_->pinned().put(staging, through.ok() ? *through : nullptr);
  return through.status();
}

Status HostCopies::copy_out_pieces(std::byte* to, CuPointer from, std::size_t bytes, CuStream stream) {
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
    core_->pinned().put(std::exchange(last.staging, nullptr));
    return {};
  };
  for (std::size_t at = 0; at < bytes; at += kPiece) {
    Piece piece{.at = at, .bytes = std::min(kPiece, bytes - at)};
    piece.staging = core_->pinned().take(piece.bytes);
    std::byte* const target = piece.staging != nullptr ? piece.staging : to + at;
    Status status = core_->check(cu.cuMemcpyDtoHAsync_v2(target, from + at, piece.bytes, stream), "cuMemcpyDtoHAsync");
    if (status.ok() && piece.staging != nullptr) {
      Result<CuEvent> there = core_->record(stream);
      status = there.status();
      if (there.ok()) piece.there = *there;
    }
    if (!status.ok()) {
      if (piece.staging != nullptr) core_->pinned().put(piece.staging);
      return status;
    }
    ARGOSY_RETURN_IF_ERROR(hand_over());
    last = piece;
  }
  return hand_over();
}

Result<Event> HostCopies::copy_out(const Buffer& to, const Buffer& from) {
  const std::size_t bytes = from.bytes();
  if (bytes == 0) return Event();
  if (bytes > PinnedPool::kMostBytes) {
    ARGOSY_RETURN_IF_ERROR(
        copy_out_pieces(static_cast<std::byte*>(to.data()), address(from.data()), bytes, core_->compute()));
    return Event();
  }
  std::byte* const staging = core_->pinned().take(bytes);
  void* const target = staging != nullptr ? staging : to.data();
  Status status =
      core_->check(core_->driver()->cuMemcpyDtoHAsync_v2(target, address(from.data()), bytes, core_->compute()),
                   "cuMemcpyDtoHAsync");
  Result<CuEvent> done = status.ok() ? core_->record(core_->compute()) : Result<CuEvent>(status);
  if (!done.ok()) {
    if (staging != nullptr) core_->pinned().put(staging);
    return std::move(done).status();
  }
  if (staging == nullptr) return Event(std::make_shared<CudaEvent>(core_, *done));
  return Event(std::make_shared<CopyOut>(core_, *done, staging, to, bytes));
}

Status HostCopies::copy_out_now(void* to, const void* from, std::size_t bytes, CuStream stream) {
  bool pinned = false;
  if (bytes > kPiece && (gpu_of(to, &pinned), !pinned)) {
    return copy_out_pieces(static_cast<std::byte*>(to), address(from), bytes, stream);
  }
  return core_->check(core_->driver()->cuMemcpyDtoHAsync_v2(to, address(from), bytes, stream), "cuMemcpyDtoHAsync");
}

}  // namespace argosy::cuda
