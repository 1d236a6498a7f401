#include "argosy/device/cuda/cuda_device.h"

#include <map>

#include "argosy/base/log.h"
#include "argosy/device/cuda/cuda_launch_queue.h"
#include "argosy/device/cuda/device_core.h"
#include "argosy/device/cuda/driver/runtime_compiler.h"
#include "argosy/device/cuda/links.h"
#include "argosy/device/cuda/module_cache.h"
#include "argosy/device/host_stream.h"

namespace argosy::cuda {

namespace {

CuPointer address(const void* p) { return reinterpret_cast<CuPointer>(p); }

class Memory final : public Allocator {
 public:
  Memory(std::shared_ptr<DeviceCore> core, CudaLaunchQueue& queue) : core_(std::move(core)), queue_(queue) {}
  Result<Buffer> allocate(std::size_t bytes) override { return core_->memory().allocate(bytes); }
  MemoryStats stats() const override { return core_->memory().stats(); }
  void trim() override { core_->memory().trim(); }
  bool on_host() const override { return false; }
  Status copy_within(void* to, const void* from, std::size_t bytes) override {
    if (bytes == 0) return {};
    ARGOSY_RETURN_IF_ERROR(core_->open());
    return core_->memory().copy_within(address(to), address(from), bytes);
  }
  Status copy_out(void* to, const void* from, std::size_t bytes) override { return queue_.copy_now(to, from, bytes); }

 private:
  const std::shared_ptr<DeviceCore> core_;
  CudaLaunchQueue& queue_;
};

}  // namespace

struct CudaDevice::State {
  State(std::shared_ptr<const Driver> driver, Options o, std::shared_ptr<Links> links)
      : options(std::move(o)),
        core(std::make_shared<DeviceCore>(std::move(driver), options.gpu, options.spec.said_name(),
                                          options.spec.memory_limit_bytes, options.grace)),
        queue(core, links),
        memory(core, queue),
        fault_injector(options.spec, options.faults,
                       options.shutdown != nullptr ? options.shutdown : std::make_shared<ShutdownSignal>()),
        modules(core, options.facts),
        streams(options.spec.name.short_string(), 1, [this](const Buffer& to, const Buffer& from) {
          return queue.copy_now(to.data(), from.data(), from.bytes());
        }) {
    links->join(core);
    core->memory().when_out_of_memory([links, gpu = core->gpu()] { links->release_idle(gpu); });
    core->memory().fail_allocation(options.faults.fail_allocation);
  }

  const Options options;
  const std::shared_ptr<DeviceCore> core;
  CudaLaunchQueue queue;
  Memory memory;
  FaultInjector fault_injector;
  ModuleCache modules;
  Mutex keep_mutex;
  std::map<std::string, std::shared_ptr<void>, std::less<>> kept ARGOSY_GUARDED_BY(keep_mutex);
  HostStreams streams;
};

CudaDevice::CudaDevice(std::shared_ptr<const Driver> driver, Options options, std::shared_ptr<Links> links)
    : state_(std::make_unique<State>(std::move(driver), std::move(options), std::move(links))) {}

CudaDevice::~CudaDevice() {
  if (state_->options.shutdown != nullptr) state_->options.shutdown->close();
  if (!state_->core->opened()) return;
  const KeepsCurrent current(driver());
  // First wait for the running work; then destroy the objects that use the context.
  const Status last = state_->streams.synchronize();
  const Status finished = state_->queue.finish(nullptr);
  if (!last.ok() || !finished.ok())
    ARGOSY_LOG(kWarning, "closing ", spec().name.short_string(), ": ", finished.message());
  const bool ended = state_->core->ended();
  // These objects may have worked with other GPUs last (the communicators of a group). Each must be destroyed in this
  // context.
  const auto enter = [this] { driver()->cuCtxSetCurrent(state_->core->context()); };
  {
    MutexLock lock(state_->keep_mutex);
    // A library's handle waits for its work when it is destroyed. For a kernel that never ends it would wait for ever,
    // so these objects are leaked.
    if (!ended) new auto(std::move(state_->kept));
    for (auto& [key, held] : state_->kept) {
      enter();
      held.reset();
    }
    state_->kept.clear();
  }
  enter();
  state_->modules.clear(ended);
}

const DeviceSpec& CudaDevice::spec() const { return state_->options.spec; }
Allocator& CudaDevice::allocator() { return state_->memory; }
Stream& CudaDevice::compute() { return state_->streams.compute; }
Stream& CudaDevice::copies() { return state_->streams.copies; }
Stream& CudaDevice::communication() { return state_->streams.communication; }
KernelObserver* CudaDevice::observer() {
  return state_->fault_injector.kernels_are_plain() ? state_->options.observer : &state_->fault_injector;
}
void CudaDevice::add_kernels(KernelRegistry& kernels) const {
  if (state_->options.kernels != nullptr) state_->options.kernels(kernels);
}
LaunchQueue* CudaDevice::launch_queue() { return &state_->queue; }

Status CudaDevice::synchronize() {
  Status streams = state_->streams.synchronize();
  Status finished = state_->queue.finish(nullptr);
  return streams.ok() ? finished : streams;
}

const GpuFacts& CudaDevice::gpu() const { return state_->options.facts; }
const DeviceMath& CudaDevice::math() const { return state_->options.math; }
const Driver& CudaDevice::driver() const { return state_->core->driver(); }

int CudaDevice::max_threads_per_block() const {
  int value = 0;
  return driver()->cuDeviceGetAttribute(&value, kCuMaxThreadsPerBlock, state_->options.gpu) == kCuSuccess ? value : 0;
}
std::size_t CudaDevice::max_shared_per_block() const {
  int value = 0;
  const CuResult result = driver()->cuDeviceGetAttribute(&value, kCuMaxSharedPerBlockOptin, state_->options.gpu);
  return result == kCuSuccess ? static_cast<std::size_t>(value) : 0;
}

Status CudaDevice::make_current() { return state_->core->open(); }

Result<CuStream> CudaDevice::stream() {
  ARGOSY_RETURN_IF_ERROR(state_->core->open());
  state_->core->memory().claim_compute_thread();
  return state_->core->compute();
}

Result<CuFunction> CudaDevice::function(std::string_view module, std::string_view kernel) {
  for (const ModuleImage& image : state_->options.modules) {
    if (image.name == module) return state_->modules.find(module, image.data, kernel);
  }
  return not_found("there is no module ", module, " of kernels").with_id("ARG-GPU-008");
}

Result<CuFunction> CudaDevice::function_in(std::string_view key, const void* image, std::string_view kernel) {
  return state_->modules.find(str_cat("at run time: ", key), image, kernel);
}

bool CudaDevice::knows_module(std::string_view key) const {
  return state_->modules.contains(str_cat("at run time: ", key));
}

bool CudaDevice::vendor_libraries() const { return state_->options.vendor_libraries; }

std::shared_ptr<RuntimeCompiler> CudaDevice::compiler() {
  auto* const open = state_->options.compiler;
  if (open == nullptr) return nullptr;
  const auto held = keep("compiler", [&] { return std::make_shared<std::shared_ptr<RuntimeCompiler>>(open()); });
  return *static_cast<std::shared_ptr<RuntimeCompiler>*>(held.get());
}

namespace {
using FoundDnn = Result<std::shared_ptr<Dnn>>;
constexpr std::string_view kDnn = "cuDNN";
}  // namespace

Status CudaDevice::dnn_as_known() const {
  if (state_->options.dnn == nullptr) return unimplemented("cuDNN is not looked for");
  MutexLock lock(state_->keep_mutex);
  const auto found = state_->kept.find(kDnn);
  return found == state_->kept.end() ? ok_status() : static_cast<const FoundDnn*>(found->second.get())->status();
}

Result<std::shared_ptr<Dnn>> CudaDevice::dnn() {
  ARGOSY_RETURN_IF_ERROR(dnn_as_known());
  const auto look = [&]() -> FoundDnn {
    ARGOSY_RETURN_IF_ERROR(make_current());
    FoundDnn dnn = state_->options.dnn(*this);
    if (dnn.ok() || dnn.status().code() == Code::kUnimplemented) return dnn;
    ARGOSY_LOG(kWarning,
               "convolutions, batch normalisation, pooling and softmax run without cuDNN: ", dnn.status().to_string());
    return unimplemented("no cuDNN: ", dnn.status().message());
  };
  const auto held = keep(kDnn, [&] { return std::make_shared<FoundDnn>(look()); });
  return *static_cast<const FoundDnn*>(held.get());
}

Status CudaDevice::launch(CuFunction function, const LaunchShape& shape, void** arguments, std::string_view node) {
  ARGOSY_ASSIGN_OR_RETURN(const CuStream stream, this->stream());
  const DriverCalls& cu = *driver().operator->();
  // The driver grants more only on request.
  constexpr unsigned kAlwaysGranted = 48 << 10;
  if (shape.shared_bytes > kAlwaysGranted) {
    ARGOSY_RETURN_IF_ERROR(state_->core->check(
        cu.cuFuncSetAttribute(function, kCuFunctionMaxDynamicShared, static_cast<int>(shape.shared_bytes)),
        "cuFuncSetAttribute"));
  }
  Status status = state_->core->check(
      cu.cuLaunchKernel(function, shape.grid.x, shape.grid.y, shape.grid.z, shape.block.x, shape.block.y, shape.block.z,
                        shape.shared_bytes, stream, arguments, nullptr),
      "cuLaunchKernel");
  if (status.ok()) return status;
  return std::move(status).with_where(str_cat("node '", node, "' on ", spec().name.to_string()));
}

Status CudaDevice::copy(void* to, const void* from, std::size_t bytes) {
  ARGOSY_ASSIGN_OR_RETURN(const CuStream stream, this->stream());
  if (bytes == 0) return {};
  return state_->core->check(driver()->cuMemcpyDtoDAsync_v2(address(to), address(from), bytes, stream),
                             "cuMemcpyDtoDAsync");
}

Status CudaDevice::fill(void* to, int unit_bytes, std::uint32_t value, std::size_t count) {
  ARGOSY_ASSIGN_OR_RETURN(const CuStream stream, this->stream());
  if (count == 0) return {};
  const DriverCalls& cu = *driver().operator->();
  switch (unit_bytes) {
    case 1:
      return state_->core->check(cu.cuMemsetD8Async(address(to), static_cast<unsigned char>(value), count, stream),
                                 "cuMemsetD8Async");
    case 2:
      return state_->core->check(cu.cuMemsetD16Async(address(to), static_cast<unsigned short>(value), count, stream),
                                 "cuMemsetD16Async");
    case 4: return state_->core->check(cu.cuMemsetD32Async(address(to), value, count, stream), "cuMemsetD32Async");
    default: return internal_error("units of ", unit_bytes, " bytes cannot be filled in");
  }
}

Status CudaDevice::upload(void* to, const void* from, std::size_t bytes) {
  state_->core->memory().claim_compute_thread();
  return state_->queue.upload(to, from, bytes);
}

Status CudaDevice::download(void* to, const void* from, std::size_t bytes) {
  return state_->queue.copy_now(to, from, bytes);
}

std::shared_ptr<void> CudaDevice::keep(std::string_view key, const std::function<std::shared_ptr<void>()>& make) {
  MutexLock lock(state_->keep_mutex);
  const auto found = state_->kept.find(key);
  if (found != state_->kept.end()) return found->second;
  return state_->kept.emplace(std::string(key), make()).first->second;
}

}  // namespace argosy::cuda
