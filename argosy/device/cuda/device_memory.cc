// Device memory of a DeviceCore: the driver's stream-ordered pool under a cap of our own.
#include <algorithm>

#include "argosy/device/cuda/device_core.h"

namespace argosy::cuda {

namespace {
constexpr char kNoneLeft[] = "ARG-MEM-002";  // on the GPU, as in driver.h
}  // namespace

Status DeviceCore::refuse(std::size_t bytes, std::string_view why) const {
  return resource_exhausted(owner_, ": ", format_bytes(bytes), " asked for, ", format_bytes(in_use_), " of ",
                            format_bytes(limit_), " in use", why)
      .with_id("ARG-MEM-001")
      .with_hint("a smaller --batch, more devices, or a larger --mem for this one");
}

Result<Buffer> DeviceCore::allocate(std::size_t bytes, bool at_once) {
  ARGOSY_RETURN_IF_ERROR(open());
  const auto take = [&]() ARGOSY_REQUIRES(memory_) -> Result<CuPointer> {
    if (limit_ > 0 && in_use_ + bytes > limit_) return refuse(bytes, "");
    ARGOSY_ASSIGN_OR_RETURN(const CuPointer pointer, take_memory(bytes, at_once));
    in_use_ += bytes;
    peak_ = std::max(peak_, in_use_);
    return pointer;
  };
  {
    MutexLock lock(memory_);
    ++allocations_;
    if (fail_in_ > 0 && --fail_in_ == 0) return refuse(bytes, " (injected fault)");
    Result<CuPointer> pointer = take();
    if (pointer.ok()) return wrap(*pointer, bytes);
    if (pointer.status().id() != kNoneLeft || !make_room_) return std::move(pointer).status();
  }
  make_room_();
  MutexLock lock(memory_);
  ARGOSY_ASSIGN_OR_RETURN(const CuPointer pointer, take());
  return wrap(pointer, bytes);
}

Buffer DeviceCore::wrap(CuPointer pointer, std::size_t bytes) {
  void* const data = reinterpret_cast<void*>(pointer);
  std::shared_ptr<void> owner(
      data, [core = shared_from_this(), bytes](void* p) { core->free(reinterpret_cast<CuPointer>(p), bytes); });
  return Buffer(std::move(owner), data, bytes);
}

Result<CuPointer> DeviceCore::take_memory(std::size_t bytes, bool at_once) {
  const DriverCalls& cu = *driver_->operator->();
  // Another thread's place in the order of the compute stream is not known, and while a step is captured nothing of its
  // may get in there: it takes memory beside that stream, and waits until it has it. So does what is captured, whose
  // memory must stay where it is for every replay.
  const bool recorded = !at_once && captures_here();
  if (recorded) {
    const auto fits = spare_.lower_bound(bytes);
    if (fits != spare_.end() && fits->first / 2 <= bytes) {
      const CuPointer pointer = fits->second;
      of_capture_[pointer] = fits->first;
      spare_.erase(fits);
      return pointer;
    }
  }
  const bool in_order = !at_once && !capturing_ && on_compute_thread();
  const CuStream stream = in_order ? compute_ : memory_stream_;
  const std::size_t asked = std::max<std::size_t>(bytes, 1);
  CuPointer pointer = 0;
  CuResult result = cu.cuMemAllocFromPoolAsync(&pointer, asked, pool_, stream);
  if (result == kCuOutOfMemory && !capturing_) {
    // What was freed in the order of a stream may be there once that is done, and what is kept may be in pieces.
    cu.cuStreamSynchronize(compute_);
    cu.cuMemPoolTrimTo(pool_, 0);
    result = cu.cuMemAllocFromPoolAsync(&pointer, asked, pool_, stream);
  }
  if (result == kCuSuccess && !in_order) result = cu.cuStreamSynchronize(stream);
  if (result == kCuOutOfMemory) {
    return resource_exhausted(owner_, ": ", format_bytes(bytes), " refused by the GPU, ", format_bytes(in_use_),
                              " in use here, of ", format_bytes(limit_), " allowed; others use the rest")
        .with_id(kNoneLeft)
        .with_hint("`argosy devices` shows who; end them, or ask for less");
  }
  ARGOSY_RETURN_IF_ERROR(check(result, "cuMemAllocFromPoolAsync"));
  if (recorded) of_capture_[pointer] = asked;
  return pointer;
}

void DeviceCore::free(CuPointer pointer, std::size_t bytes) {
  // Any thread, whatever its context: the stream says where.
  const DriverCalls& cu = *driver_->operator->();
  MutexLock lock(memory_);
  in_use_ -= bytes;
  if (!capturing_) {
    cu.cuMemFreeAsync(pointer, compute_);
  } else if (const auto recorded = of_capture_.find(pointer); recorded != of_capture_.end()) {
    spare_.emplace(recorded->second, pointer);
    of_capture_.erase(recorded);
  } else {
    waiting_.push_back(pointer);
  }
}

Status DeviceCore::grant(CuDevice other) {
  MutexLock lock(mutex_);
  if (granted_.contains(other)) return {};
  CuAccess access;
  access.location.id = other;
  ARGOSY_RETURN_IF_ERROR(
      driver_->check(driver_->operator->()->cuMemPoolSetAccess(pool_, &access, 1), "cuMemPoolSetAccess"));
  granted_.insert(other);
  return {};
}

MemoryStats DeviceCore::stats() const {
  MutexLock lock(memory_);
  return {.in_use_bytes = in_use_, .peak_bytes = peak_, .limit_bytes = limit_, .allocations = allocations_};
}

void DeviceCore::trim() {
  if (!opened()) return;
  if (!ended(compute_)) return;
  MutexLock lock(memory_);
  if (!capturing_) driver_->operator->()->cuMemPoolTrimTo(pool_, 0);
}

void DeviceCore::release_idle() {
  if (!opened() || !broken().ok()) return;
  driver_->operator->()->cuMemPoolTrimTo(pool_, 0);
}

void DeviceCore::fail_allocation(std::int64_t nth) {
  MutexLock lock(memory_);
  fail_in_ = nth;
}

bool DeviceCore::capturing_here() const {
  MutexLock lock(memory_);
  return captures_here();
}

bool DeviceCore::capturing() const {
  MutexLock lock(memory_);
  return capturing_;
}

Status DeviceCore::begin_capture() {
  const DriverCalls& cu = *driver_->operator->();
  MutexLock lock(memory_);
  if (before_capture_ == nullptr) {
    ARGOSY_RETURN_IF_ERROR(check(cu.cuEventCreate(&before_capture_, kCuEventDisableTiming), "cuEventCreate"));
  }
  ARGOSY_RETURN_IF_ERROR(check(cu.cuEventRecord(before_capture_, compute_), "cuEventRecord"));
  const CuResult result = cu.cuStreamBeginCapture_v2(compute_, kCuCaptureRelaxed);
  if (result == kCuSuccess) {
    capturing_ = true;
    capturing_thread_ = std::this_thread::get_id();
  }
  return check(result, "cuStreamBeginCapture");
}

Status DeviceCore::copy_within(CuPointer to, CuPointer from, std::size_t bytes) {
  const DriverCalls& cu = *driver_->operator->();
  MutexLock lock(memory_);
  if (!capturing_ || captures_here()) {
    return check(cu.cuMemcpyDtoDAsync_v2(to, from, bytes, compute_), "cuMemcpyDtoDAsync");
  }
  ARGOSY_RETURN_IF_ERROR(check(cu.cuStreamWaitEvent(memory_stream_, before_capture_, 0), "cuStreamWaitEvent"));
  ARGOSY_RETURN_IF_ERROR(check(cu.cuMemcpyDtoDAsync_v2(to, from, bytes, memory_stream_), "cuMemcpyDtoDAsync"));
  return check(cu.cuStreamSynchronize(memory_stream_), "cuStreamSynchronize");
}

Result<CuGraph> DeviceCore::end_capture(std::vector<Buffer>* memory) {
  const DriverCalls& cu = *driver_->operator->();
  CuGraph graph = nullptr;
  MutexLock lock(memory_);
  const CuResult result = cu.cuStreamEndCapture(compute_, &graph);
  capturing_ = false;
  for (const auto& [bytes, pointer] : spare_) {
    if (result == kCuSuccess) {
      memory->push_back(wrap(pointer, bytes));
      in_use_ += bytes;
    } else {
      cu.cuMemFreeAsync(pointer, compute_);
    }
  }
  peak_ = std::max(peak_, in_use_);
  for (std::byte* const block : std::exchange(staged_in_capture_, {})) {
    const auto drop = [core = shared_from_this()](std::byte* data) { core->drop_staging(data); };
    if (result == kCuSuccess) {
      memory->push_back(
          Buffer(std::shared_ptr<void>(block, [drop](void* p) { drop(static_cast<std::byte*>(p)); }), block, 0));
    } else {
      drop_staging(block);
    }
  }
  for (const CuPointer pointer : waiting_) cu.cuMemFreeAsync(pointer, compute_);
  spare_.clear();
  waiting_.clear();
  of_capture_.clear();
  ARGOSY_RETURN_IF_ERROR(check(result, "cuStreamEndCapture"));
  return graph;
}

}  // namespace argosy::cuda
