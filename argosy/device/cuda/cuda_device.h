// CudaDevice: a physical GPU or a virtual GPU on it, with its own streams, memory and kernels.
//
// The device allocates nothing on the GPU before it is used. From then on it holds the GPU's primary context until the
// device and all its buffers are gone.
//
// Order: kernels enqueue their work on the compute stream, in the order in which they run. Allocations and frees have a
// place in that order too. So a buffer may be released right after the launch that uses it.
//
// Memory: host code must not touch device memory. int32 values, and arguments that an op declares host_inputs or
// host_outputs, live in host memory (`c.output()` included). All other values live on the GPU.
//
// Threads: methods marked "Thread-safe" may be called from any thread; all others from one thread at a time, the one
// that runs kernels.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "argosy/device/cuda/driver/driver.h"
#include "argosy/device/gpu_backend.h"

namespace argosy::cuda {

class RuntimeCompiler;  // runtime_compiler.h
class Dnn;              // dnn.h
class DeviceCore;       // the context, its streams and memory: device_core.h
class Links;            // copies between GPUs: links.h

// The compiled kernels of one .cu file, named after the file without "_cuda.cu". `data` is a fatbin, a cubin or PTX. On
// the fake driver it is a path, ending in 0: a shared object of kernels compiled for the host (fake/on_host.h).
struct ModuleImage {
  std::string_view name;  // "elementwise"
  const void* data = nullptr;
};

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
};

struct LaunchShape {
  Dim3 grid, block;
  unsigned shared_bytes = 0;  // dynamic
};

struct DeviceMath {
  bool tf32 = false;
  bool deterministic = false;
};

class CudaDevice final : public Device {
 public:
  // After a cancellation enqueued work has so long to end: a queue of kernels may be seconds deep. A kernel that takes
  // longer counts as hanging, and its device is lost.
  static constexpr std::chrono::milliseconds kGrace{10'000};

  struct Options {
    DeviceSpec spec;
    CuDevice gpu = 0;
    GpuFacts facts;
    DeviceMath math;
    std::span<const ModuleImage> modules;  // outlive the device
    void (*kernels)(KernelRegistry&) = nullptr;
    std::shared_ptr<RuntimeCompiler> (*compiler)() = nullptr;    // null: none
    Result<std::shared_ptr<Dnn>> (*dnn)(CudaDevice&) = nullptr;  // called with the context current; null: none
    bool vendor_libraries = false;                               // kernels may use cuBLASLt and other libraries
    KernelObserver* observer = nullptr;                          // used if the device has no faults; null: none
    DeviceFaults faults;
    std::shared_ptr<ShutdownSignal> shutdown;  // may be null
    std::chrono::milliseconds grace = kGrace;
  };
  // `links` is shared by all devices of a backend.
  CudaDevice(std::shared_ptr<const Driver> driver, Options options, std::shared_ptr<Links> links);
  ~CudaDevice() override;

  const DeviceSpec& spec() const override;
  Allocator& allocator() override;
  Stream& compute() override;
  Stream& copies() override;
  Stream& communication() override;
  KernelObserver* observer() override;
  std::string_view kernel_kind() const override { return "cuda"; }
  void add_kernels(KernelRegistry& kernels) const override;
  LaunchQueue* launch_queue() override;
  Status synchronize() override;

  // --- for kernels ---------------------------------------------------------------------------------------------------

  const GpuFacts& gpu() const;  // name, capability, multiprocessors
  const DeviceMath& math() const;
  int max_threads_per_block() const;         // these: 0 where the context could not be made
  std::size_t max_shared_per_block() const;  // with opt-in, which launch() does
  int warp_size() const { return 32; }
  const Driver& driver() const;
  // The compute stream, for libraries (cuBLASLt, cuDNN). Makes its context current on the calling thread.
  Result<CuStream> stream();
  // Makes the context current on the calling thread. Thread-safe.
  Status make_current();

  // A kernel of the plug-in's images; cached. Thread-safe. NOT_FOUND: no such module or kernel.
  Result<CuFunction> function(std::string_view module, std::string_view kernel);
  // A kernel of a module compiled at run time (NVRTC: cubin or PTX). The module is cached under `key` until the device
  // is destroyed; `image` is read only for a new key. Thread-safe.
  Result<CuFunction> function_in(std::string_view key, const void* image, std::string_view kernel);
  bool knows_module(std::string_view key) const;
  // The run-time compiler for this GPU; null: there is none. Opened at the first call. Thread-safe.
  std::shared_ptr<RuntimeCompiler> compiler();
  // cuDNN, opened at the first call. UNIMPLEMENTED with the reason where there is none; logged once. Thread-safe.
  Result<std::shared_ptr<Dnn>> dnn();
  // The status of dnn() without opening the library; OK where it may exist. Thread-safe.
  Status dnn_as_known() const;
  bool vendor_libraries() const;

  // Enqueues a kernel on the compute stream. `arguments` point to the values, which are copied. `node` is for messages.
  Status launch(CuFunction function, const LaunchShape& shape, void** arguments, std::string_view node);
  // Copies between buffers of this device, on the compute stream.
  Status copy(void* to, const void* from, std::size_t bytes);
  // Fills `count` units of 1, 2 or 4 bytes, on the compute stream.
  Status fill(void* to, int unit_bytes, std::uint32_t value, std::size_t count);
  // Copies host memory to this device, in order with enqueued work. The caller may change or free `from` after the
  // return.
  Status upload(void* to, const void* from, std::size_t bytes);
  // Copies to the host after waiting for all enqueued work. For kernels whose output size depends on data.
  Status download(void* to, const void* from, std::size_t bytes);
  // An object that lives as long as this device, made on first use: a library handle, a cache. `make` runs under a
  // lock, once for each key. The object is destroyed before the context. Thread-safe.
  std::shared_ptr<void> keep(std::string_view key, const std::function<std::shared_ptr<void>()>& make);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace argosy::cuda
