// Nvml: NVIDIA's management library: memory in use and by which process, load, links. It is opened by name. Without it
// these facts stay unknown and nothing else changes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "argosy/base/status.h"
#include "argosy/device/gpu_backend.h"

namespace argosy::cuda {

// The functions that we call, with their documented signatures. Each returns 0 for success.
struct NvmlCalls {
  static constexpr int kInsufficientSize = 7;  // a list is longer than the room for it
  static constexpr unsigned kMostLinks = 18;   // NVLinks of a GPU
  using Handle = struct NvmlDeviceObject*;
  struct Memory {
    unsigned long long total = 0, free = 0, used = 0;
  };
  struct Utilisation {
    unsigned gpu = 0, memory = 0;
  };
  struct Process {  // version 2 and later of nvmlDeviceGetComputeRunningProcesses
    unsigned pid = 0;
    unsigned long long used_bytes = 0;
    unsigned instance = 0, compute_instance = 0;
  };
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*driver_version)(char* text, unsigned length) = nullptr;
  int (*handle_by_pci)(const char* id, Handle* device) = nullptr;
  int (*memory)(Handle device, Memory* memory) = nullptr;
  int (*utilisation)(Handle device, Utilisation* rates) = nullptr;
  int (*processes)(Handle device, unsigned* count, Process* list) = nullptr;
  int (*link_state)(Handle device, unsigned link, unsigned* active) = nullptr;
  // Optional: where one is missing, its facts stay unknown.
  int (*index)(Handle device, unsigned* index) = nullptr;
  int (*library_version)(char* text, unsigned length) = nullptr;
  // type 0: corrected, 1: uncorrected; counter 0: since the driver started.
  int (*ecc_errors)(Handle device, int type, int counter, unsigned long long* count) = nullptr;
  int (*remapped_rows)(Handle device, unsigned* corrected, unsigned* uncorrected, unsigned* pending,
                       unsigned* failed) = nullptr;
};

class Nvml {
 public:
  // Opens libnvidia-ml.so.1. UNAVAILABLE (ARG-GPU-009): it is missing or does not start.
  static Result<std::shared_ptr<Nvml>> open();
  static Result<std::shared_ptr<Nvml>> over(const NvmlCalls& calls, std::string path = "libnvidia-ml.so.1");
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::string driver_version() const;  // "580.65.06"; empty: not known
  LibraryFacts library() const;
  // Fills in the known facts of the GPU at facts.pci.
  void look_at(GpuFacts& facts) const;

 private:
  Nvml(const NvmlCalls& calls, std::string path) : calls_(calls), path_(std::move(path)) {}
  const NvmlCalls calls_;
  const std::string path_;
};

}  // namespace argosy::cuda
