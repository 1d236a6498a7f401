// Where real GPUs come from: what a plug-in gives the library. The CUDA plug-in is the one there is; tests bring one
// whose GPUs are fakes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "argosy/device/device.h"
#include "argosy/device/emulated/emulation_parser.h"
#include "argosy/device/emulated/fault_injector.h"
#include "argosy/device/link_facts.h"

namespace argosy {

// A GPU, as it is found; nothing on it is taken. Unknown numbers are -1.
struct GpuFacts {
  int number = 0;    // among those that this process sees (CUDA_VISIBLE_DEVICES), by address
  std::string name;  // "NVIDIA H200"
  std::string uuid;  // "GPU-..." or "MIG-..."
  std::string pci;   // "0000:3b:00.0"
  std::uint64_t memory_bytes = 0;
  int major = 0, minor = 0;  // compute capability
  int multiprocessors = 0;
  std::string unusable;  // why it cannot be used, with what to do; empty: it can
  // From NVML, where that is.
  int system_number = -1;  // nvidia-smi's
  std::int64_t memory_used_bytes = -1;
  int utilisation_percent = -1;
  std::vector<std::string> users;  // "pid 1234, 512.0 MiB"
  std::vector<std::string> links;  // "gpu:1 NVLink x18", "gpu:2 PCIe"
  // Bit errors of its memory since the driver started: mended, and not; rows that its next reset will replace.
  std::int64_t ecc_corrected = -1, ecc_uncorrected = -1, rows_pending = -1;
};

// A library the backend uses if it is there.
struct LibraryFacts {
  std::string name;     // "cuBLASLt"
  std::string version;  // empty: not found, or refused
  std::string path;
  std::string problem;  // why it is not used, and what to do
};

// Thread-safe.
class GpuBackend {
 public:
  virtual ~GpuBackend() = default;
  virtual std::string kind() const = 0;    // "CUDA"
  virtual std::string driver() const = 0;  // "580.65 (CUDA 13.0)"
  // In order of their numbers. Takes nothing on any GPU.
  virtual Result<std::vector<GpuFacts>> gpus() = 0;
  virtual std::vector<LibraryFacts> libraries() = 0;
  // Copies between all GPUs that can be used, and between them and the host: takes their contexts and some memory for
  // a moment. A copy that does not end is told as the problem of its link, and whatever else was asked for stays
  // untried.
  virtual GpuLinks try_links() = 0;
  // A device on GPU spec.physical_gpu; `spec` says its name and its cap. Takes nothing before it is used. `faults` and
  // `shutdown` as for emulated GPUs.
  virtual Result<std::unique_ptr<Device>> make(DeviceSpec spec, const DeviceRequest& request,
                                               const DeviceFaults& faults,
                                               std::shared_ptr<ShutdownSignal> shutdown) = 0;
};

}  // namespace argosy
