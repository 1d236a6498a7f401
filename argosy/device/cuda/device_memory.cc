#include "argosy/device/cuda/device_memory.h"

#include <algorithm>
#include <utility>

#include "argosy/device/cuda/device_core.h"

namespace argosy::cuda {

namespace {
constexpr char kNoneLeft[] = "ARG-MEM-002";  // as in driver.h
}  // namespace

Status DeviceMemory::open() {
  const DriverCalls& cu = *core_.driver().operator->();
  const auto ok = [&](CuResult result, const char* call) { return core_.driver().check(result, call); };
  ARGOSY_RETURN_IF_ERROR(ok(cu.cuStreamCreate(&stream_, kCuStreamNonBlocking), "cuStreamCreate"));
  CuPoolProperties properties;
  properties.location.id = core_.gpu();
  ARGOSY_RETURN_IF_ERROR(ok(cu.cuMemPoolCreate(&pool_, &properties), "cuMemPoolCreate"));
  // An allocation outside the compute stream must not wait for that stream's work, and the host waits for it. With this
  // attribute set, the driver could give it memory whose free is still to come there.
  int waits = 0;
  ARGOSY_RETURN_IF_ERROR(ok(cu.cuMemPoolSetAttribute(pool_, kCuPoolReuseWaits, &waits), "cuMemPoolSetAttribute"));
  // The pool keeps freed memory until trim(): we enforce the cap ourselves.
  std::uint64_t keep = UINT64_MAX;
  return ok(cu.cuMemPoolSetAttribute(pool_, kCuPoolReleaseThreshold, &keep), "cuMemPoolSetAttribute");
}

void DeviceMemory::close() {
  const DriverCalls& cu = *core_.driver().operator->();
  MutexLock lock(mutex_);
  if (before_capture_ != nullptr) cu.cuEventDestroy_v2(before_capture_);
  if (pool_ != nullptr) cu.cuMemPoolDestroy(pool_);
  if (stream_ != nullptr) cu.cuStreamDestroy_v2(stream_);
}

Status DeviceMemory::refuse(std::size_t bytes, std::string_view why) const {
  return resource_exhausted(core_.owner(), ": ", format_bytes(bytes), " asked for, ", format_bytes(in_use_), " of ",
                            format_bytes(limit_), " in use", why)
      .with_id("ARG-MEM-001")
      .with_hint("a smaller --batch, more devices, or a larger --mem for this one");
}

Result<Buffer> DeviceMemory::allocate(std::size_t bytes, bool at_once) {
  ARGOSY_RETURN_IF_ERROR(core_.open());
  const auto take_counted = [&]() ARGOSY_REQUIRES(mutex_) -> Result<CuPointer> {
    if (limit_ > 0 && in_use_ + bytes > limit_) return refuse(bytes, "");
    ARGOSY_ASSIGN_OR_RETURN(const CuPointer pointer, take(bytes, at_once));
    in_use_ += bytes;
    peak_ = std::max(peak_, in_use_);
    return pointer;
  };
  {
    MutexLock lock(mutex_);
    ++allocations_;
    if (fail_in_ > 0 && --fail_in_ == 0) return refuse(bytes, " (injected fault)");
    Result<CuPointer> pointer = take_counted();
    if (pointer.ok()) return wrap(*pointer, bytes);
    if (pointer.status().id() != kNoneLeft || !make_room_) return std::move(pointer).status();
  }
  make_room_();
  MutexLock lock(mutex_);
  ARGOSY_ASSIGN_OR_RETURN(const CuPointer pointer, take_counted());
  return wrap(pointer, bytes);
}

Buffer DeviceMemory::wrap(CuPointer pointer, std::size_t bytes) {
  void* const data = reinterpret_cast<void*>(pointer);
  std::shared_ptr<void> owner(data, [core = core_.shared_from_this(), bytes](void* p) {
    core->memory().free(reinterpret_cast<CuPointer>(p), bytes);
  });
  return Buffer(std::move(owner), data, bytes);
}

Result<CuPointer> DeviceMemory::take(std::size_t bytes, bool at_once) {
  // The memory of a captured graph must stay in its place for every replay: it is not freed before the graph is.
  const bool recorded = !at_once && captures_here();
  if (recorded) {
    if (const CuPointer pointer = captured_.reuse(bytes); pointer != 0) return pointer;
  }
  const std::size_t asked = std::max<std::size_t>(bytes, 1);
  ARGOSY_ASSIGN_OR_RETURN(const CuPointer pointer,
                          take_from_driver(asked, !at_once && !capturing_ && on_compute_thread()));
  if (recorded) captured_.add(pointer, asked);
  return pointer;
}

Result<CuPointer> DeviceMemory::take_from_driver(std::size_t bytes, bool in_order) {
  const DriverCalls& cu = *core_.driver().operator->();
  const CuStream stream = in_order ? core_.compute() : stream_;
  CuPointer pointer = 0;
  CuResult result = cu.cuMemAllocFromPoolAsync(&pointer, bytes, pool_, stream);
  if (result == kCuOutOfMemory && !capturing_) {
    // Memory that was freed in stream order is available once the stream is idle, and the pool's free memory may be
    // fragmented.
    cu.cuStreamSynchronize(core_.compute());
    cu.cuMemPoolTrimTo(pool_, 0);
    result = cu.cuMemAllocFromPoolAsync(&pointer, bytes, pool_, stream);
  }
  if (result == kCuSuccess && !in_order) result = cu.cuStreamSynchronize(stream);
  if (result == kCuOutOfMemory) {
    return resource_exhausted(core_.owner(), ": ", format_bytes(bytes), " refused by the GPU, ", format_bytes(in_use_),
                              " in use here, of ", format_bytes(limit_), " allowed; others use the rest")
        .with_id(kNoneLeft)
        .with_hint("`argosy devices` shows who; end them, or ask for less");
  }
  ARGOSY_RETURN_IF_ERROR(core_.check(result, "cuMemAllocFromPoolAsync"));
  return pointer;
}

void DeviceMemory::free(CuPointer pointer, std::size_t bytes) {
  // On any thread, with any context current: the stream belongs to the right one.
  MutexLock lock(mutex_);
  in_use_ -= bytes;
  free_counted(pointer);
}

void DeviceMemory::free_counted(CuPointer pointer) {
  if (capturing_) {
    captured_.free(pointer);
  } else {
    core_.driver()->cuMemFreeAsync(pointer, core_.compute());
  }
}

Status DeviceMemory::grant(CuDevice other) {
  MutexLock lock(grants_mutex_);
  if (granted_.contains(other)) return {};
  CuAccess access;
  access.location.id = other;
  ARGOSY_RETURN_IF_ERROR(
      core_.driver().check(core_.driver()->cuMemPoolSetAccess(pool_, &access, 1), "cuMemPoolSetAccess"));
  granted_.insert(other);
  return {};
}

MemoryStats DeviceMemory::stats() const {
  MutexLock lock(mutex_);
  return {.in_use_bytes = in_use_, .peak_bytes = peak_, .limit_bytes = limit_, .allocations = allocations_};
}

void DeviceMemory::trim() {
  if (!core_.opened()) return;
  if (!core_.ended(core_.compute())) return;
  MutexLock lock(mutex_);
  if (!capturing_) core_.driver()->cuMemPoolTrimTo(pool_, 0);
}

void DeviceMemory::release_idle() {
  if (!core_.opened() || !core_.broken().ok()) return;
  core_.driver()->cuMemPoolTrimTo(pool_, 0);
}

void DeviceMemory::fail_allocation(std::int64_t nth) {
  MutexLock lock(mutex_);
  fail_in_ = nth;
}

bool DeviceMemory::capturing_here() const {
  MutexLock lock(mutex_);
  return captures_here();
}

bool DeviceMemory::capturing() const {
  MutexLock lock(mutex_);
  return capturing_;
}

Status DeviceMemory::begin_capture() {
  const DriverCalls& cu = *core_.driver().operator->();
  MutexLock lock(mutex_);
  if (before_capture_ == nullptr) {
    ARGOSY_RETURN_IF_ERROR(core_.check(cu.cuEventCreate(&before_capture_, kCuEventDisableTiming), "cuEventCreate"));
  }
  ARGOSY_RETURN_IF_ERROR(core_.check(cu.cuEventRecord(before_capture_, core_.compute()), "cuEventRecord"));
  const CuResult result = cu.cuStreamBeginCapture_v2(core_.compute(), kCuCaptureRelaxed);
  if (result == kCuSuccess) {
    capturing_ = true;
    capturing_thread_ = std::this_thread::get_id();
  }
  return core_.check(result, "cuStreamBeginCapture");
}

Status DeviceMemory::record(CuEvent event) {
  const DriverCalls& cu = *core_.driver().operator->();
  MutexLock lock(mutex_);
  if (!capturing_) return core_.check(cu.cuEventRecord(event, core_.compute()), "cuEventRecord");
  if (captures_here()) return internal_error(core_.owner(), ": a wait in the middle of a capture");
  ARGOSY_RETURN_IF_ERROR(core_.check(cu.cuStreamWaitEvent(stream_, before_capture_, 0), "cuStreamWaitEvent"));
  return core_.check(cu.cuEventRecord(event, stream_), "cuEventRecord");
}

void DeviceMemory::keep_pinned(std::byte* block) {
  MutexLock lock(mutex_);
  captured_.keep(block);
}

Status DeviceMemory::copy_within(CuPointer to, CuPointer from, std::size_t bytes) {
  const DriverCalls& cu = *core_.driver().operator->();
  MutexLock lock(mutex_);
  if (!capturing_ || captures_here()) {
    return core_.check(cu.cuMemcpyDtoDAsync_v2(to, from, bytes, core_.compute()), "cuMemcpyDtoDAsync");
  }
  ARGOSY_RETURN_IF_ERROR(core_.check(cu.cuStreamWaitEvent(stream_, before_capture_, 0), "cuStreamWaitEvent"));
  ARGOSY_RETURN_IF_ERROR(core_.check(cu.cuMemcpyDtoDAsync_v2(to, from, bytes, stream_), "cuMemcpyDtoDAsync"));
  return core_.check(cu.cuStreamSynchronize(stream_), "cuStreamSynchronize");
}

void DeviceMemory::free_all(const std::vector<CuPointer>& pointers) {
  MutexLock lock(mutex_);
  for (const CuPointer pointer : pointers) free_counted(pointer);
}

Result<CuGraph> DeviceMemory::end_capture(EndedCapture* ended) {
  const DriverCalls& cu = *core_.driver().operator->();
  CuGraph graph = nullptr;
  MutexLock lock(mutex_);
  const CuResult result = cu.cuStreamEndCapture(core_.compute(), &graph);
  capturing_ = false;
  const CapturedMemory captured = std::exchange(captured_, {});
  for (const auto& [bytes, pointer] : captured.freed()) {
    if (result == kCuSuccess) {
      ended->memory.push_back(wrap(pointer, bytes));
      in_use_ += bytes;
    } else {
      cu.cuMemFreeAsync(pointer, core_.compute());
    }
  }
  peak_ = std::max(peak_, in_use_);
  for (std::byte* const block : captured.pinned()) {
    if (result == kCuSuccess) {
      const auto drop = [core = core_.shared_from_this()](void* p) { core->pinned().put(static_cast<std::byte*>(p)); };
      ended->memory.push_back(Buffer(std::shared_ptr<void>(block, drop), block, 0));
    } else {
      core_.pinned().put(block);
    }
  }
  ended->replayed = captured.later();
  ARGOSY_RETURN_IF_ERROR(core_.check(result, "cuStreamEndCapture"));
  return graph;
}

}  // namespace argosy::cuda
