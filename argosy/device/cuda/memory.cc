// Device memory of a Core: the driver's stream-ordered pool under a cap of our own.
#include <algorithm>

#include "argosy/device/cuda/core.h"

namespace argosy::cuda {

bool Core::on_compute_thread() const {
  MutexLock lock(memory_);
  return compute_thread_ == std::this_thread::get_id();
}

void Core::claim_compute_thread() {
  MutexLock lock(memory_);
  compute_thread_ = std::this_thread::get_id();
}

Status Core::refuse(std::size_t bytes, std::string_view why) const {
  return resource_exhausted(owner_, ": ", format_bytes(bytes), " asked for, ", format_bytes(in_use_), " of ",
                            format_bytes(limit_), " in use", why)
      .with_id("ARG-MEM-001")
      .with_next("a smaller --batch, more devices, or a larger --mem for this one");
}

Result<Buffer> Core::allocate(std::size_t bytes, bool at_once) {
  ARGOSY_RETURN_IF_ERROR(open());
  CuPointer pointer = 0;
  {
    MutexLock lock(memory_);
    ++allocations_;
    if (fail_in_ > 0 && --fail_in_ == 0) return refuse(bytes, " (injected fault)");
    if (limit_ > 0 && in_use_ + bytes > limit_) return refuse(bytes, "");
    ARGOSY_ASSIGN_OR_RETURN(pointer, take_memory(bytes, at_once));
    in_use_ += bytes;
    peak_ = std::max(peak_, in_use_);
  }
  return wrap(pointer, bytes);
}

Buffer Core::wrap(CuPointer pointer, std::size_t bytes) {
  void* const data = reinterpret_cast<void*>(pointer);
  std::shared_ptr<void> owner(
      data, [core = shared_from_this(), bytes](void* p) { core->free(reinterpret_cast<CuPointer>(p), bytes); });
  return Buffer(std::move(owner), data, bytes);
}

Result<CuPointer> Core::take_memory(std::size_t bytes, bool at_once) {
  const DriverCalls& cu = *driver_->operator->();
  // Another thread's place in the order of the compute stream is not known, and while a step is recorded nothing of its
  // may get in there: it takes memory beside that stream, and waits until it has it. So does what is recorded, whose
  // memory must stay where it is for every repetition.
  const bool recorded = !at_once && capturing_ && compute_thread_ == std::this_thread::get_id();
  if (recorded) {
    const auto fits = spare_.lower_bound(bytes);
    if (fits != spare_.end() && fits->first / 2 <= bytes) {
      const CuPointer pointer = fits->second;
      of_capture_[pointer] = fits->first;
      spare_.erase(fits);
      return pointer;
    }
  }
  const bool in_order = !at_once && !capturing_ && compute_thread_ == std::this_thread::get_id();
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
    return resource_exhausted(owner_, ": ", format_bytes(bytes), " refused by the card, ", format_bytes(in_use_),
                              " in use here, of ", format_bytes(limit_), " allowed; others use the rest")
        .with_id("ARG-MEM-002")
        .with_next("`argosy devices` shows who; end them, or ask for less");
  }
  ARGOSY_RETURN_IF_ERROR(check(result, "cuMemAllocFromPoolAsync"));
  if (recorded) of_capture_[pointer] = asked;
  return pointer;
}

void Core::free(CuPointer pointer, std::size_t bytes) {
  const DriverCalls& cu = *driver_->operator->();
  cu.cuCtxSetCurrent(context_);
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

Status Core::grant(CuDevice other) {
  MutexLock lock(mutex_);
  if (granted_.contains(other)) return {};
  CuAccess access;
  access.location.id = other;
  ARGOSY_RETURN_IF_ERROR(
      driver_->check(driver_->operator->()->cuMemPoolSetAccess(pool_, &access, 1), "cuMemPoolSetAccess"));
  granted_.insert(other);
  return {};
}

MemoryStats Core::stats() const {
  MutexLock lock(memory_);
  return {.in_use_bytes = in_use_, .peak_bytes = peak_, .limit_bytes = limit_, .allocations = allocations_};
}

void Core::trim() {
  if (!opened()) return;
  const DriverCalls& cu = *driver_->operator->();
  cu.cuCtxSetCurrent(context_);
  MutexLock lock(memory_);
  if (capturing_ || !ended(compute_)) return;
  cu.cuMemPoolTrimTo(pool_, 0);
}

void Core::fail_allocation(std::int64_t nth) {
  MutexLock lock(memory_);
  fail_in_ = nth;
}

bool Core::capturing() const {
  MutexLock lock(memory_);
  return capturing_;
}

Status Core::begin_capture() {
  MutexLock lock(memory_);
  const CuResult result = driver_->operator->()->cuStreamBeginCapture_v2(compute_, kCuCaptureRelaxed);
  if (result == kCuSuccess) capturing_ = true;
  return check(result, "cuStreamBeginCapture");
}

Result<CuGraph> Core::end_capture(std::vector<Buffer>* memory) {
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
