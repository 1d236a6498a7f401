// CUDA C++ compiled while the program runs: by NVRTC where it is, and a cache on disk, so that each source is compiled
// once for each architecture and version of NVRTC.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/base/status.h"

namespace argosy::cuda {

// Thread-safe.
class RuntimeCompiler {
 public:
  virtual ~RuntimeCompiler() = default;
  // "NVRTC 13.0" and the options it is called with: part of the key of what is cached.
  virtual std::string version() const = 0;
  // The compute capabilities it makes code for, ascending: 75 for 7.5. Empty where nobody knows.
  virtual std::vector<int> architectures() const = 0;
  // What cuModuleLoadData takes, for compute capability major.minor: machine code, or, for a GPU that is newer than
  // the compiler, text that the driver translates. INVALID_ARGUMENT with the compiler's own messages.
  virtual Result<std::string> compile(const std::string& source, int major, int minor) = 0;
};

// NVRTC as found on this machine (library.h). UNAVAILABLE where there is none, or one older than CUDA 12.0.
// `options`: of every compilation, beside the architecture; nvcc's (ArgosyCuda.cmake) for kernels like the plug-in's.
Result<std::shared_ptr<RuntimeCompiler>> open_nvrtc(std::vector<std::string> options = {"--std=c++20"});

// `compiler` with a cache in `folder`, made at the first need: one file a source, architecture and version, written
// aside and renamed, so that processes may share it. A file that cannot be read or written, or is not whole, costs a
// compilation, nothing else.
std::shared_ptr<RuntimeCompiler> cached(std::shared_ptr<RuntimeCompiler> compiler, std::string folder);
// $ARGOSY_CACHE, else $XDG_CACHE_HOME/argosy, else ~/.cache/argosy; empty: nowhere.
std::string default_cache_folder();
// 32 hexadecimal digits of what decides a compilation's result.
std::string cache_key(std::string_view source, std::string_view version, int major, int minor);

// The newest of `known` (ascending) that a GPU of capability `capability` runs, translated by its driver unless it is the
// GPU's own; the GPU's own where none is.
int nearest_architecture(const std::vector<int>& known, int capability);

}  // namespace argosy::cuda
