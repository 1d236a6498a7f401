// A CUDA device: a physical GPU, or a share of one (virtual GPU), with streams, memory and kernels of its own.
//
// Nothing is taken on the GPU before the device is used; from then on it holds the GPU's primary context until the
// device and all its buffers are gone. Kernels enqueue their work on the compute stream, in the order in which they run;
// memory is allocated and freed in that order too, so a buffer may be let go of right after the launch that uses it.
// Host code must not touch device memory: int32 values and what an op declares host_inputs or host_outputs live in the
// host's memory (in `c.output()` too), everything else on the GPU.
//
// Thread-safe where it says so; all else belongs to whoever runs kernels: one thread at a time.
#pragma once

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

// Compiled kernels: one image for each .cu file, by the file's name without "_cuda.cu": a fatbin, cubin or PTX; on the
// fake driver the path of a shared object of kernels compiled for the host (fake/on_host.h), as text that ends in 0.
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
  struct Options {
    DeviceSpec spec;
    CuDevice gpu = 0;
    GpuFacts facts;
    DeviceMath math;
    std::span<const ModuleImage> modules;  // outlive the device
    void (*kernels)(KernelRegistry&) = nullptr;
    std::shared_ptr<RuntimeCompiler> (*compiler)() = nullptr;    // null: none
    Result<std::shared_ptr<Dnn>> (*dnn)(CudaDevice&) = nullptr;  // its context current; null: none
    bool vendor_libraries = false;                               // kernels may look for cuBLASLt and its like
    KernelObserver* observer = nullptr;                          // of a device without faults; null: none
    DeviceFaults faults;
    std::shared_ptr<ShutdownSignal> shutdown;  // may be null
  };
  // `links` is shared by the devices of a backend.
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
  int max_threads_per_block() const;         // these three: 0 where the context could not be made
  std::size_t max_shared_per_block() const;  // with opt-in, which launch() does
  int warp_size() const { return 32; }
  const Driver& driver() const;
  // The compute stream, with its context made current on the calling thread: for libraries (cuBLASLt, cuDNN).
  Result<CuStream> stream();
  // Makes the context current on the calling thread. Thread-safe.
  Status make_current();

  // A kernel of the plug-in's own images, found once. Thread-safe. NOT_FOUND: no such module or kernel.
  Result<CuFunction> function(std::string_view module, std::string_view kernel);
  // A module compiled at run time (NVRTC: cubin or PTX), kept until the device goes, known by `key`. `image` is read
  // only where the key is new. Thread-safe.
  Result<CuFunction> function_in(std::string_view key, const void* image, std::string_view kernel);
  bool knows_module(std::string_view key) const;
  // What compiles kernels at run time for this GPU; null where nothing does. Opened at the first call. Thread-safe.
  std::shared_ptr<RuntimeCompiler> compiler();
  // cuDNN, opened at the first call. UNIMPLEMENTED with the reason where there is none; said once. Thread-safe.
  Result<std::shared_ptr<Dnn>> dnn();
  // The same as far as it is known, opening nothing: OK where the library may be there. Thread-safe.
  Status dnn_as_known() const;
  bool vendor_libraries() const;

  // Starts a kernel on the compute stream. `arguments` point to the values, which are copied. `node` is for messages.
  Status launch(CuFunction function, const LaunchShape& shape, void** arguments, std::string_view node);
  // Between buffers of this device, on the compute stream.
  Status copy(void* to, const void* from, std::size_t bytes);
  // `count` units of 1, 2 or 4 bytes, on the compute stream.
  Status fill(void* to, int unit_bytes, std::uint32_t value, std::size_t count);
  // Host memory to this device's, in order with what is launched; `from` may change or go once this returns.
  Status upload(void* to, const void* from, std::size_t bytes);
  // To the host; waits for all that was launched before. For kernels whose output's size depends on data.
  Status download(void* to, const void* from, std::size_t bytes);
  // Something that lives as long as this device, made at first use: a library's handle, a cache. Thread-safe; `make` is
  // called under a lock, once for each key. Gone before the context is.
  std::shared_ptr<void> keep(std::string_view key, const std::function<std::shared_ptr<void>()>& make);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace argosy::cuda
