// Memory of the fake driver: pools in the order of streams, pinned blocks, copies.
#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "argosy/device/cuda/fake/fake_driver_state.h"

namespace argosy::cuda::fake {

namespace {

using State = FakeDriver::State;

constexpr std::size_t kGrain = 512;
constexpr std::size_t kLarge = std::size_t{1} << 20;
std::size_t rounded(std::size_t bytes) { return (std::max<std::size_t>(bytes, 1) + kGrain - 1) / kGrain * kGrain; }

// A gap behind each block that belongs to no block: an access beyond the end of one does not hit the next.
constexpr std::size_t kZone = kGrain;

// From the GPU's own address space. REQUIRES: mutex held. 0: none.
CuPointer take_hole(GpuState* gpu, std::size_t bytes) {
  if (gpu->reserved + bytes > gpu->facts.memory_bytes) return 0;
  bytes += kZone;
  for (auto& [at, size] : gpu->holes) {
    if (size < bytes) continue;
    const CuPointer pointer = at;
    const std::size_t rest = size - bytes;
    gpu->holes.erase(pointer);
    if (rest > 0) gpu->holes[pointer + bytes] = rest;
    return pointer;
  }
  return 0;
}
void give_hole(GpuState* gpu, CuPointer pointer, std::size_t bytes) {
  bytes += kZone;
  // Whole pages go back: what is there counts whenever all of the GPU's memory is closed or opened.
  constexpr CuPointer kPage = 4096;
  const CuPointer begin = (pointer + kPage - 1) / kPage * kPage, end = (pointer + bytes) / kPage * kPage;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  auto [it, fresh] = gpu->holes.emplace(pointer, bytes);
  if (auto next = std::next(it); next != gpu->holes.end() && it->first + it->second == next->first) {
    it->second += next->second;
    gpu->holes.erase(next);
  }
  if (it != gpu->holes.begin()) {
    if (auto before = std::prev(it); before->first + before->second == it->first) {
      before->second += it->second;
      gpu->holes.erase(it);
    }
  }
}

CuResult pool_create(CuMemoryPool* out, const CuPoolProperties* properties) {
  State* const s = State::current();
  const int id = properties->location.id;
  if (id < 0 || id >= static_cast<int>(s->gpus.size()) || properties->allocation_type != 1 ||
      properties->location.type != 1) {
    return kCuInvalidValue;
  }
  auto* const pool = new Pool{.gpu = s->gpus[static_cast<std::size_t>(id)].get()};
  std::lock_guard lock(s->mutex);
  s->objects.insert(pool);
  *out = reinterpret_cast<CuMemoryPool>(pool);
  return kCuSuccess;
}

// REQUIRES: mutex held.
void trim(Pool* pool, std::size_t keep) {
  for (auto it = pool->kept.begin(); it != pool->kept.end() && pool->reserved > keep;) {
    if (!it->second.done) {
      ++it;
      continue;
    }
    give_hole(pool->gpu, it->first, it->second.bytes);
    pool->reserved -= it->second.bytes;
    pool->gpu->reserved -= it->second.bytes;
    it = pool->kept.erase(it);
  }
}

CuResult pool_destroy(CuMemoryPool handle) {
  State* const s = State::current();
  auto* const pool = reinterpret_cast<Pool*>(handle);
  std::lock_guard lock(s->mutex);
  if (pool->in_use > 0 && pool->gpu->broken == kCuSuccess)
    s->violation(str_cat("a pool goes with ", pool->in_use, " B in use"));
  trim(pool, 0);
  s->objects.erase(pool);
  delete pool;
  return kCuSuccess;
}
CuResult pool_set(CuMemoryPool pool, int attribute, void* value) {
  if (attribute == kCuPoolReuseWaits) {
    std::lock_guard lock(State::current()->mutex);
    reinterpret_cast<Pool*>(pool)->reuse_waits = *static_cast<const int*>(value) != 0;
    return kCuSuccess;
  }
  return attribute == kCuPoolReleaseThreshold ? kCuSuccess : kCuInvalidValue;
}
CuResult pool_get(CuMemoryPool handle, int attribute, void* value) {
  if (attribute != kCuPoolReserved) return kCuInvalidValue;
  std::lock_guard lock(State::current()->mutex);
  *static_cast<std::uint64_t*>(value) = reinterpret_cast<Pool*>(handle)->reserved;
  return kCuSuccess;
}
CuResult pool_trim(CuMemoryPool handle, std::size_t keep) {
  std::lock_guard lock(State::current()->mutex);
  trim(reinterpret_cast<Pool*>(handle), keep);
  return kCuSuccess;
}
CuResult pool_access(CuMemoryPool handle, const CuAccess* access, std::size_t count) {
  State* const s = State::current();
  std::lock_guard lock(s->mutex);
  for (std::size_t i = 0; i < count; ++i) {
    if (access[i].location.id < 0 || access[i].location.id >= static_cast<int>(s->gpus.size())) return kCuInvalidDevice;
  }
  if (!s->options.peers_reach) return kCuNotSupported;
  GpuState* const gpu = reinterpret_cast<Pool*>(handle)->gpu;
  for (std::size_t i = 0; i < count; ++i) {
    gpu->open_to.insert(s->gpus[static_cast<std::size_t>(access[i].location.id)].get());
  }
  return kCuSuccess;
}

CuResult allocate(CuPointer* out, std::size_t bytes, CuMemoryPool handle, CuStream stream_handle) {
  if (const CuResult error = current_error(); error != kCuSuccess) return error;
  State* const s = State::current();
  auto* const pool = reinterpret_cast<Pool*>(handle);
  auto* const stream = reinterpret_cast<Stream*>(stream_handle);
  GpuState* const gpu = pool->gpu;
  const std::size_t size = rounded(bytes);
  std::lock_guard lock(s->mutex);
  ++s->counts.allocations;
  if (s->fail_allocation_in > 0 && --s->fail_allocation_in == 0) return kCuOutOfMemory;
  CuPointer pointer = 0;
  if (stream->capture != nullptr) return kCuNotSupported;  // memory of graphs: nothing of ours asks for it
  for (auto it = pool->kept.begin(); it != pool->kept.end(); ++it) {
    if (it->second.bytes != size || !(it->second.done || it->second.stream == stream)) continue;
    pointer = it->first;
    pool->kept.erase(it);
    break;
  }
  if (pointer == 0 && pool->reuse_waits) {
    // The driver prefers memory that another stream is about to free, and makes this stream wait for it. Here it gets
    // other memory all the same.
    for (const Freeing& other : pool->freeing) {
      if (other.bytes < size || other.stream == stream || other.ticket->reached) continue;
      s->push(stream, {.name = "wait", .waits = other.ticket});
      break;
    }
  }
  if (pointer == 0) {
    pointer = take_hole(gpu, size);
    if (pointer == 0) return kCuOutOfMemory;
    pool->reserved += size;
    gpu->reserved += size;
  }
  pool->in_use += size;
  *out = pointer;
  // The same place may be allocated twice over in one order: the entry is made when the first is freed there.
  return s->push(stream, {.name = "allocate",
                          .run =
                              [=] {
                                std::lock_guard inner(s->mutex);
                                gpu->allocations[pointer] = {.bytes = bytes, .pool = pool, .ready = true};
                                ASAN_POISON_MEMORY_REGION(reinterpret_cast<void*>(pointer), size + kZone);
                                ASAN_UNPOISON_MEMORY_REGION(reinterpret_cast<void*>(pointer), bytes);
                                if (s->options.run_kernels) std::memset(reinterpret_cast<void*>(pointer), 0xff, bytes);
                                return kCuSuccess;
                              },
                          .touches_memory = true,
                          .bytes = bytes});
}

CuResult release(CuPointer pointer, CuStream stream_handle) {
  State* const s = State::current();
  auto* const stream = reinterpret_cast<Stream*>(stream_handle);
  GpuState* const gpu = s->gpu_at(pointer);
  if (gpu == nullptr) return kCuInvalidValue;
  std::lock_guard lock(s->mutex);
  if (stream->capture != nullptr) return kCuNotSupported;
  const auto ticket = std::make_shared<Ticket>();
  if (const auto found = gpu->allocations.find(pointer); found != gpu->allocations.end()) {
    std::vector<Freeing>& freeing = found->second.pool->freeing;
    std::erase_if(freeing, [](const Freeing& f) { return f.ticket->reached; });
    freeing.push_back({rounded(found->second.bytes), stream, ticket});
  }
  return s->push(stream, {.name = "free",
                          .run =
                              [=] {
                                std::lock_guard inner(s->mutex);
                                const auto found = gpu->allocations.find(pointer);
                                if (found == gpu->allocations.end()) {
                                  s->violation("a free of memory that is not allocated");
                                  return kCuInvalidValue;
                                }
                                Pool* const pool = found->second.pool;
                                const std::size_t bytes = found->second.bytes;
                                if (s->options.run_kernels) std::memset(reinterpret_cast<void*>(pointer), 0xff, bytes);
                                ASAN_POISON_MEMORY_REGION(reinterpret_cast<void*>(pointer), bytes);
                                gpu->allocations.erase(found);
                                pool->in_use -= rounded(bytes);
                                pool->kept[pointer] = {.bytes = rounded(bytes), .stream = stream, .done = true};
                                return kCuSuccess;
                              },
                          .reaches = ticket,
                          .touches_memory = true});
}

CuResult host_alloc(void** pointer, std::size_t bytes, unsigned) {
  if (current_context() == nullptr) return kCuInvalidContext;
  State* const s = State::current();
  *pointer = std::malloc(bytes);
  std::lock_guard lock(s->mutex);
  s->note(Call::How::kCalled, nullptr, "pin", bytes);
  s->pinned[*pointer] = bytes;
  return kCuSuccess;
}
CuResult host_free(void* pointer) {
  State* const s = State::current();
  std::lock_guard lock(s->mutex);
  if (s->pinned.erase(pointer) == 0) return kCuInvalidValue;
  std::free(pointer);
  return kCuSuccess;
}

// REQUIRES: mutex held.
bool is_pinned(State* s, const void* pointer, std::size_t bytes) {
  for (const auto& [block, size] : s->pinned) {
    const auto* const begin = static_cast<const std::byte*>(block);
    const auto* const p = static_cast<const std::byte*>(pointer);
    if (p >= begin && p + bytes <= begin + size) return true;
  }
  return false;
}

// Memory that the driver does not know has type 0 and ordinal -2, as with the real one.
CuResult pointer_attributes(unsigned count, int* attributes, void** values, CuPointer pointer) {
  State* const s = State::current();
  std::lock_guard lock(s->mutex);
  GpuState* const gpu = s->gpu_at(pointer);
  const bool pinned = gpu == nullptr && is_pinned(s, reinterpret_cast<void*>(pointer), 1);
  for (unsigned i = 0; i < count; ++i) {
    if (attributes[i] == kCuPointerMemoryType) {
      *static_cast<unsigned*>(values[i]) = gpu != nullptr ? kCuMemoryTypeDevice : pinned ? kCuMemoryTypeHost : 0;
    } else if (attributes[i] == kCuPointerDeviceOrdinal) {
      *static_cast<int*>(values[i]) = gpu != nullptr ? gpu->ordinal : -2;
    } else {
      return kCuInvalidValue;
    }
  }
  return kCuSuccess;
}

CuResult to_device(CuPointer to, const void* from, std::size_t bytes, CuStream stream) {
  if (const CuResult error = current_error(); error != kCuSuccess) return error;
  State* const s = State::current();
  std::lock_guard lock(s->mutex);
  // Pageable memory is read at the call; pinned memory is read when the copy runs.
  std::shared_ptr<std::vector<std::byte>> taken;
  if (!is_pinned(s, from, bytes)) {
    const auto* const p = static_cast<const std::byte*>(from);
    taken = std::make_shared<std::vector<std::byte>>(p, p + bytes);
  }
  return s->push(reinterpret_cast<Stream*>(stream), {.name = "copy in",
                                                     .run =
                                                         [=] {
                                                           std::unique_lock inner(s->mutex);
                                                           if (!s->check_memory("a copy in", to, bytes))
                                                             return kCuIllegalAddress;
                                                           inner.unlock();
                                                           std::memcpy(reinterpret_cast<void*>(to),
                                                                       taken != nullptr ? taken->data() : from, bytes);
                                                           if (s->options.host_lies && bytes >= kLarge)
                                                             *reinterpret_cast<std::uint8_t*>(to + bytes / 2) ^= 1;
                                                           return kCuSuccess;
                                                         },
                                                     .touches_memory = true,
                                                     .bytes = bytes});
}

CuResult to_host(void* to, CuPointer from, std::size_t bytes, CuStream stream_handle) {
  if (const CuResult error = current_error(); error != kCuSuccess) return error;
  State* const s = State::current();
  auto* const stream = reinterpret_cast<Stream*>(stream_handle);
  std::unique_lock lock(s->mutex);
  const bool pinned = is_pinned(s, to, bytes);
  if (!pinned && stream->capture != nullptr) return State::invalidate(stream, kCuCaptureUnsupported);
  const CuResult result = s->push(stream, {.name = "copy out",
                                           .run =
                                               [=] {
                                                 std::unique_lock inner(s->mutex);
                                                 if (!s->check_memory("a copy out", from, bytes))
                                                   return kCuIllegalAddress;
                                                 inner.unlock();
                                                 std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
                                                 return kCuSuccess;
                                               },
                                           .touches_memory = true,
                                           .bytes = bytes});
  if (result != kCuSuccess || pinned) return result;
  s->note(Call::How::kCalled, stream, "host waits");
  return s->wait_until_idle(lock, stream);
}

CuResult move(const char* what, CuPointer to, CuPointer from, std::size_t bytes, CuStream stream, bool lie,
              bool hang = false) {
  if (const CuResult error = current_error(); error != kCuSuccess) return error;
  State* const s = State::current();
  std::lock_guard lock(s->mutex);
  GpuState* const other = s->gpu_at(from);
  return s->push(reinterpret_cast<Stream*>(stream),
                 {.name = what,
                  .run =
                      [=] {
                        std::unique_lock inner(s->mutex);
                        if (hang) s->changed.wait(inner, [&] { return s->hang_ended; });
                        if (!s->check_memory(what, to, bytes) || !s->check_memory(what, from, bytes))
                          return kCuIllegalAddress;
                        s->touch(other, true);
                        inner.unlock();
                        std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
                        if (lie) std::memset(reinterpret_cast<void*>(to), 0, std::min<std::size_t>(bytes, 4096));
                        inner.lock();
                        s->touch(other, false);
                        return kCuSuccess;
                      },
                  .touches_memory = true,
                  .bytes = bytes});
}

CuResult within(CuPointer to, CuPointer from, std::size_t bytes, CuStream stream) {
  return move("a copy", to, from, bytes, stream, false);
}
CuResult between(CuPointer to, CuContext to_context, CuPointer from, CuContext from_context, std::size_t bytes,
                 CuStream stream) {
  State* const s = State::current();
  const auto owns = [&](CuContext context, CuPointer pointer) {
    std::lock_guard lock(s->mutex);
    return reinterpret_cast<Context*>(context)->gpu == s->gpu_at(pointer);
  };
  if (!owns(to_context, to) || !owns(from_context, from)) return kCuInvalidContext;
  {
    std::lock_guard lock(s->mutex);
    ++s->counts.direct_copies;
  }
  return move("a copy between GPUs", to, from, bytes, stream, s->options.peers_lie && bytes >= s->options.lies_from,
              s->options.peers_hang);
}

template <typename Unit>
CuResult fill(CuPointer to, Unit value, std::size_t count, CuStream stream) {
  if (const CuResult error = current_error(); error != kCuSuccess) return error;
  State* const s = State::current();
  std::lock_guard lock(s->mutex);
  return s->push(reinterpret_cast<Stream*>(stream), {.name = "fill",
                                                     .run =
                                                         [=] {
                                                           std::unique_lock inner(s->mutex);
                                                           if (!s->check_memory("a fill", to, count * sizeof(Unit)))
                                                             return kCuIllegalAddress;
                                                           inner.unlock();
                                                           std::fill_n(reinterpret_cast<Unit*>(to), count, value);
                                                           return kCuSuccess;
                                                         },
                                                     .touches_memory = true,
                                                     .bytes = count * sizeof(Unit)});
}

}  // namespace

void add_memory_calls(DriverCalls& calls) {
  calls.cuMemPoolCreate = pool_create;
  calls.cuMemPoolDestroy = pool_destroy;
  calls.cuMemPoolSetAttribute = pool_set;
  calls.cuMemPoolGetAttribute = pool_get;
  calls.cuMemPoolTrimTo = pool_trim;
  calls.cuMemPoolSetAccess = pool_access;
  calls.cuMemAllocFromPoolAsync = allocate;
  calls.cuMemFreeAsync = release;
  calls.cuMemHostAlloc = host_alloc;
  calls.cuMemFreeHost = host_free;
  calls.cuPointerGetAttributes = pointer_attributes;
  calls.cuMemcpyHtoDAsync_v2 = to_device;
  calls.cuMemcpyDtoHAsync_v2 = to_host;
  calls.cuMemcpyDtoDAsync_v2 = within;
  calls.cuMemcpyPeerAsync = between;
  calls.cuMemsetD8Async = fill<unsigned char>;
  calls.cuMemsetD16Async = fill<unsigned short>;
  calls.cuMemsetD32Async = fill<unsigned>;
}

}  // namespace argosy::cuda::fake
