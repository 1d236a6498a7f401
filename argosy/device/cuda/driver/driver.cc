#include "argosy/device/cuda/driver/driver.h"

#include <dlfcn.h>

#include <cstdlib>

namespace argosy::cuda {

namespace {

constexpr char kLibrary[] = "libcuda.so.1";

std::string dotted(int version) { return str_cat(version / 1000, ".", version % 1000 / 10); }

}  // namespace

Result<std::shared_ptr<const Driver>> Driver::open() {
  // Never closed: the driver keeps threads of its own.
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return unavailable("no NVIDIA driver here: ", kLibrary, " is not found")
        .with_id("ARG-GPU-003")
        .with_hint("install NVIDIA's driver, or give the container its GPUs; or rehearse: --emulate 2");
  }
  DriverCalls calls;
  const auto find = [&](const char* name, auto* call) {
    *call = reinterpret_cast<std::remove_pointer_t<decltype(call)>>(dlsym(library, name));
    return *call != nullptr;
  };
#define ARGOSY_CUDA_FIND(name, parameters)                                                              \
  if (!find(#name, &calls.name)) {                                                                      \
    return unavailable("the NVIDIA driver is too old: its ", kLibrary, " has no ", #name)               \
        .with_id("ARG-GPU-004")                                                                         \
        .with_hint(str_cat("install a driver for CUDA ", dotted(kOldestDriver), " (525.60) or newer")); \
  }
  ARGOSY_CUDA_DRIVER_CALLS(ARGOSY_CUDA_FIND)
#undef ARGOSY_CUDA_FIND
  return over(calls);
}

Result<std::shared_ptr<const Driver>> Driver::over(const DriverCalls& calls) {
  std::shared_ptr<Driver> driver(new Driver(calls));
  ARGOSY_RETURN_IF_ERROR(driver->start());
  return std::shared_ptr<const Driver>(std::move(driver));
}

Status Driver::start() {
  const CuResult version_known = calls_.cuDriverGetVersion(&version_);
  if (version_known == kCuSuccess && version_ < kOldestDriver) {
    return unavailable("the NVIDIA driver is too old: it is for CUDA ", dotted(version_), ", this library needs ",
                       dotted(kOldestDriver))
        .with_id("ARG-GPU-004")
        .with_hint(str_cat("install a driver for CUDA ", dotted(kOldestDriver), " (525.60) or newer"));
  }
  const CuResult started = calls_.cuInit(0);
  if (started == kCuSuccess)
    return version_known == kCuSuccess ? ok_status() : check(version_known, "cuDriverGetVersion");
  const char* why = "";
  const char* next = "nvidia-smi says more; rehearse without a GPU: --emulate 2";
  switch (started) {
    case kCuNoDevice:
      why = ": it finds no GPU";
      if (std::getenv("CUDA_VISIBLE_DEVICES") != nullptr) {
        next = "look at CUDA_VISIBLE_DEVICES, which is set; or rehearse without a GPU: --emulate 2";
      }
      break;
    case kCuOperatingSystem:
      why = ": the system does not let it reach the GPUs";
      next = "look at the permissions of /dev/nvidia*; start a container with --gpus all";
      break;
    case kCuUnknown:
      why = ": its kernel modules do not answer";
      next = "nvidia-smi says more; modprobe nvidia-uvm, or restart the machine";
      break;
    case kCuCompatNotSupported:
      why = ": its compatibility package (cuda-compat) is not for GPUs of this kind";
      next = "take cuda-compat out of LD_LIBRARY_PATH, and use a toolkit that fits the installed driver";
      break;
    case kCuDeviceNotLicensed:
      why = ": the virtual GPU has no licence";
      next = "nvidia-smi -q says more; give the machine its licence";
      break;
    case kCuMpsConnectionFailed:
    case kCuMpsServerNotReady:
      why = ": MPS (multi-process service) does not answer";
      next = "nvidia-cuda-mps-control -d starts it; or unset CUDA_MPS_PIPE_DIRECTORY";
      break;
    case kCuSystemDriverMismatch:
      why = ": its kernel module is of another version than its library";
      next = "restart the machine, or load the module that belongs to the installed driver";
      break;
    case kCuSystemNotReady:
      why = ": NVIDIA's fabric manager is not running";
      next = "systemctl start nvidia-fabricmanager";
      break;
    case kCuStubLibrary:
      why = ": this is the toolkit's stub, not a driver";
      next = "take .../lib64/stubs out of LD_LIBRARY_PATH";
      break;
    default: break;
  }
  const char* name = nullptr;
  if (calls_.cuGetErrorName(started, &name) != kCuSuccess || name == nullptr) name = "an unknown error";
  return unavailable("the NVIDIA driver does not start", why, " (", name, ", ", started, ")")
      .with_id("ARG-GPU-005")
      .with_hint(next);
}

std::string Driver::version_text() const { return dotted(version_); }

bool Driver::breaks_context(CuResult result) {
  switch (result) {
    case kCuEccUncorrectable:
    case kCuNvlinkUncorrectable:
    case kCuContained:
    case kCuIllegalAddress:
    case kCuLaunchTimeout:
    case kCuContextIsDestroyed:
    case kCuAssert:
    case kCuHardwareStackError:
    case kCuIllegalInstruction:
    case kCuMisalignedAddress:
    case kCuInvalidAddressSpace:
    case kCuInvalidPc:
    case kCuLaunchFailed:
    case kCuTensorMemoryLeak:
    case kCuMpsRpcFailure:
    case kCuMpsClientTerminated:
    case kCuExternalDevice:
    case kCuUnknown: return true;
    default: return false;
  }
}

Status Driver::check(CuResult result, std::string_view call) const {
  if (result == kCuSuccess) return {};
  const char* name = nullptr;
  const char* text = nullptr;
  if (calls_.cuGetErrorName(result, &name) != kCuSuccess || name == nullptr) name = "CUDA_ERROR";
  if (calls_.cuGetErrorString(result, &text) != kCuSuccess || text == nullptr) text = "unknown";
  if (result == kCuOutOfMemory) {
    return resource_exhausted("the GPU is out of memory in ", call).with_id("ARG-MEM-002");
  }
  if (breaks_context(result)) {
    return unavailable("device lost: ", text, " (", name, ", ", result, ", seen by ", call, ")")
        .with_id("ARG-DEV-003")
        .with_hint("look at `dmesg | grep Xid`; start again from the last checkpoint: --resume");
  }
  return internal_error(call, ": ", text, " (", name, ", ", result, ")").with_id("ARG-GPU-010");
}

}  // namespace argosy::cuda
