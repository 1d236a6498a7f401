#include "argosy/device/null/null_device.h"

#include <algorithm>
#include <new>

#include "argosy/base/mutex.h"
#include "argosy/device/pages.h"

namespace argosy {

namespace {
constexpr std::size_t kReal = 4096;

DeviceSpec as_fake(DeviceSpec spec) {
  spec.kind = DeviceKind::kNull;
  return spec;
}

void* take_fake(std::size_t room) {
  if (room > kReal) return take_pages(room);
  void* data = ::operator new(kReal, std::align_val_t(kBufferAlignment), std::nothrow);
  if (data != nullptr) std::fill_n(static_cast<std::byte*>(data), kReal, std::byte(0));
  return data;
}

void give_fake(void* data, std::size_t room) {
  if (room > kReal) {
    give_pages(data, room);
  } else {
    ::operator delete(data, std::align_val_t(kBufferAlignment));
  }
}
}  // namespace

struct NullAllocator::Counts {
  void give_back(std::size_t bytes) {
    MutexLock lock(mutex);
    in_use -= bytes;
  }
  Mutex mutex;
  std::uint64_t in_use ARGOSY_GUARDED_BY(mutex) = 0;
  std::uint64_t peak ARGOSY_GUARDED_BY(mutex) = 0;
  std::uint64_t allocations ARGOSY_GUARDED_BY(mutex) = 0;
};

NullAllocator::NullAllocator(const DeviceSpec& spec)
    : owner_(spec.said_name()), limit_(spec.memory_limit_bytes), counts_(std::make_shared<Counts>()) {}

Result<Buffer> NullAllocator::allocate(std::size_t bytes) {
  {
    MutexLock lock(counts_->mutex);
    ++counts_->allocations;
    if (limit_ != 0 && (bytes > limit_ || counts_->in_use > limit_ - bytes)) {
      return resource_exhausted("memory of ", owner_, " (fake): ", format_bytes(bytes), " (", bytes, " B) requested, ",
                                format_bytes(counts_->in_use), " in use, limit ", format_bytes(limit_))
          .with_id("ARG-MEM-001");
    }
    counts_->in_use += bytes;
    counts_->peak = std::max(counts_->peak, counts_->in_use);
  }
  const std::size_t room = std::max<std::size_t>(bytes, 1);
  void* data = take_fake(room);
  if (data == nullptr) {
    counts_->give_back(bytes);
    return resource_exhausted("memory of ", owner_, " (fake): the system has no addresses for ", format_bytes(bytes))
        .with_id("ARG-MEM-002");
  }
  const auto give_back = [counts = counts_, bytes, room](void* p) {
    give_fake(p, room);
    counts->give_back(bytes);
  };
  return Buffer(std::shared_ptr<void>(data, give_back), data, bytes);
}

MemoryStats NullAllocator::stats() const {
  MutexLock lock(counts_->mutex);
  return {counts_->in_use, counts_->peak, limit_, counts_->allocations};
}

void NullDevice::Observer::after(std::string_view node, std::int64_t elapsed_nanos) {
  device_.clock_.advance(device_.cost_ ? device_.cost_(node) : elapsed_nanos);
}

NullDevice::NullDevice(DeviceSpec spec, Cost cost)
    : spec_(as_fake(std::move(spec))),
      cost_(std::move(cost)),
      memory_(spec_),
      streams_(spec_.name.short_string(), 1, [this](const Buffer&, const Buffer& from) { return copy(from); }) {}

Status NullDevice::copy(const Buffer& from) {
  if (spec_.link_bytes_per_second > 0) {
    const double seconds = static_cast<double>(from.bytes()) / spec_.link_bytes_per_second;
    link_clock_.advance(static_cast<std::int64_t>(seconds * 1e9));
  }
  return {};
}

}  // namespace argosy
