// GpuBackend: the source of real GPUs. A plug-in gives the library one. The CUDA plug-in is the only one today; tests
// bring a backend of fake GPUs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "argosy/device/device.h"
#include "argosy/device/emulated/emulation_parser.h"
#include "argosy/device/emulated/fault_injector.h"
#include "argosy/device/link_facts.h"

namespace argosy {

// A GPU as found; nothing on it is allocated. Unknown numbers are -1.
struct GpuFacts {
  int number = 0;    // among those that this process sees (CUDA_VISIBLE_DEVICES), by address
  std::string name;  // "NVIDIA H200"
  std::string uuid;  // "GPU-..." or "MIG-..."
  std::string pci;   // "0000:3b:00.0"
  std::uint64_t memory_bytes = 0;
  int major = 0, minor = 0;  // compute capability
  int multiprocessors = 0;
  std::string unusable;  // why it cannot be used, and the remedy; empty: usable
  // From NVML, if it is installed.
  int system_number = -1;  // nvidia-smi's
  std::int64_t memory_used_bytes = -1;
  int utilisation_percent = -1;
  std::vector<std::string> users;  // "pid 1234, 512.0 MiB"
  std::vector<std::string> links;  // as the driver says, not tried: "NVLink x18", "gpu:1 direct", "gpu:2 by the host"
  // Memory errors since the driver started: corrected bits, uncorrected bits, and rows that the next reset will
  // replace.
  std::int64_t ecc_corrected = -1, ecc_uncorrected = -1, rows_pending = -1;
};

// An optional library of the backend.
struct LibraryFacts {
  std::string name;     // "cuBLASLt"
  std::string version;  // empty: not found, or refused
  std::string path;
  std::string problem;  // why it is not used, and the remedy
};

// Thread-safe.
class GpuBackend {
 public:
  virtual ~GpuBackend() = default;
  virtual std::string kind() const = 0;    // "CUDA"
  virtual std::string driver() const = 0;  // "580.65 (CUDA 13.0)"
  // In the order of GpuFacts::number. Allocates nothing on any GPU.
  virtual Result<std::vector<GpuFacts>> gpus() = 0;
  virtual std::vector<LibraryFacts> libraries() = 0;
  // Copies data between all usable GPUs, and between them and the host, to test and time the links. Holds their
  // contexts and some memory for a moment. When a copy does not end, its link gets a `problem`, and the links after it
  // stay untried.
  virtual GpuLinks try_links() = 0;
  // A device on GPU spec.physical_gpu, with the name and cap of `spec`. Takes nothing on the GPU before it is used.
  // `faults` and `shutdown` as for emulated GPUs.
  virtual Result<std::unique_ptr<Device>> make(DeviceSpec spec, const DeviceRequest& request,
                                               const DeviceFaults& faults,
                                               std::shared_ptr<ShutdownSignal> shutdown) = 0;
};

}  // namespace argosy
