// CUDA C++ as host C++: the definitions with which the host's compiler compiles a kernel source for the fake driver.
// kernel_source.h includes this file where nvcc is not the compiler. Each .cu file becomes part of a shared object; the
// kernel NAME is its symbol NAME_on_host, an on_host::Kernel. The object depends on nothing else: a thread of a block
// reaches its surroundings through on_host::Block, which the runner (on_host_run.h) implements.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <utility>

namespace argosy::on_host {

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
};

enum class Access { kRead, kWrite, kAtomic };

// The running block, and its current thread. One OS thread runs one block at a time; the threads of the block take
// turns on it.
class Block {
 public:
  Dim3 grid, size, index, thread;

  // A barrier of all threads of the block that still run.
  virtual void sync() = 0;
  // A barrier of the threads of the warp.
  virtual void sync_warp() = 0;
  // Gives `word` to the other lanes and returns the word of lane `from` of the caller's warp. Orders no memory
  // accesses, as on a GPU.
  virtual std::uint64_t exchange(std::uint64_t word, unsigned from) = 0;
  // Called by objects with instrumentation (watched.cc): the code before `code` accesses `bytes` at `at`; an address
  // lacks the alignment of its object.
  virtual void touched(const void* at, std::size_t bytes, Access access, const void* code) = 0;
  virtual void misaligned(const void* at, const char* file, unsigned line, unsigned alignment) = 0;

 protected:
  ~Block() = default;
};

struct Kernel {
  void (*run_thread)(Block& block, void** arguments);  // one thread of the block, from start to end
  int parameters;
  const std::size_t* sizes;  // bytes of each parameter
  int most_threads;          // of a block: what the kernel is compiled for
};

inline thread_local Block* current = nullptr;

// Excludes a function that is not kernel code from the instrumentation.
#define ARGOSY_UNWATCHED __attribute__((no_sanitize("thread")))

template <typename... A>
struct Caller {
  static constexpr int kParameters = sizeof...(A);
  static constexpr std::size_t kSizes[sizeof...(A) + 1] = {sizeof(A)..., 0};
  template <void (*kKernel)(A...)>
  ARGOSY_UNWATCHED static void run(Block& block, void** arguments) {
    current = &block;
    call<kKernel>(arguments, std::index_sequence_for<A...>{});
  }
  template <void (*kKernel)(A...), std::size_t... I>
  ARGOSY_UNWATCHED static void call(void** arguments, std::index_sequence<I...>) {
    kKernel(*static_cast<A*>(arguments[I])...);
  }
};
template <typename... A>
Caller<A...> caller(void (*)(A...));

inline unsigned lane() {
  const Block& b = *current;
  return (b.thread.x + b.size.x * (b.thread.y + b.size.y * b.thread.z)) % 32;
}

}  // namespace argosy::on_host

#define ARGOSY_KERNEL(name, ...)                                                                             \
  static void name(__VA_ARGS__);                                                                             \
  extern "C" {                                                                                               \
  extern const ::argosy::on_host::Kernel name##_on_host;                                                     \
  const ::argosy::on_host::Kernel name##_on_host = {&decltype(::argosy::on_host::caller(&name))::run<&name>, \
                                                    decltype(::argosy::on_host::caller(&name))::kParameters, \
                                                    decltype(::argosy::on_host::caller(&name))::kSizes,      \
                                                    ::argosy::cuda::kMostThreads};                           \
  }                                                                                                          \
  static void name(__VA_ARGS__)

#define ARGOSY_SHARED static thread_local
#define __device__
#define __host__
#define __forceinline__ inline
#define __restrict__ __restrict
#define __launch_bounds__(...)
#define threadIdx (::argosy::on_host::current->thread)
#define blockIdx (::argosy::on_host::current->index)
#define blockDim (::argosy::on_host::current->size)
#define gridDim (::argosy::on_host::current->grid)

ARGOSY_UNWATCHED inline void __syncthreads() { argosy::on_host::current->sync(); }
ARGOSY_UNWATCHED inline void __syncwarp(unsigned = 0xffffffffu) { argosy::on_host::current->sync_warp(); }
inline void __threadfence() {}

namespace argosy::on_host {
template <typename T>
ARGOSY_UNWATCHED T shuffle(T value, unsigned from) {
  static_assert(sizeof(T) <= 8);
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof value);
  word = current->exchange(word, from);
  std::memcpy(&value, &word, sizeof value);
  return value;
}
}  // namespace argosy::on_host

template <typename T>
T __shfl_sync(unsigned, T value, int from) {
  return argosy::on_host::shuffle(value, static_cast<unsigned>(from) % 32);
}
template <typename T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  return argosy::on_host::shuffle(value, argosy::on_host::lane() ^ static_cast<unsigned>(mask));
}
template <typename T>
T __shfl_down_sync(unsigned, T value, unsigned by) {
  const unsigned lane = argosy::on_host::lane();
  return argosy::on_host::shuffle(value, lane + by < 32 ? lane + by : lane);
}
template <typename T>
T __shfl_up_sync(unsigned, T value, unsigned by) {
  const unsigned lane = argosy::on_host::lane();
  return argosy::on_host::shuffle(value, lane >= by ? lane - by : lane);
}

// Blocks run one after another on the thread of their stream, so a plain access is atomic enough there. The
// instrumentation is told that the access is atomic.
namespace argosy::on_host {
template <typename T, typename F>
ARGOSY_UNWATCHED T atomically(T* at, F change) {
#if defined(ARGOSY_WATCHED)
  current->touched(at, sizeof(T), Access::kAtomic, __builtin_return_address(0));
#endif
  const T old = *at;
  *at = change(old);
  return old;
}
}  // namespace argosy::on_host
template <typename T>
T atomicAdd(T* at, T value) {
  return argosy::on_host::atomically(at, [=](T old) { return static_cast<T>(old + value); });
}
template <typename T>
T atomicMax(T* at, T value) {
  return argosy::on_host::atomically(at, [=](T old) { return old < value ? value : old; });
}
template <typename T>
T atomicMin(T* at, T value) {
  return argosy::on_host::atomically(at, [=](T old) { return value < old ? value : old; });
}
template <typename T>
T atomicExch(T* at, T value) {
  return argosy::on_host::atomically(at, [=](T) { return value; });
}
template <typename T>
T atomicCAS(T* at, T expected, T value) {
  return argosy::on_host::atomically(at, [=](T old) { return old == expected ? value : old; });
}

inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<std::uint64_t>(a) * b) >> 32);
}
