// RuntimeCompiler: compiles CUDA C++ while the program runs, with NVRTC, and caches the result on disk. Each source is
// compiled once for each architecture and version of NVRTC.
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
  // "NVRTC 13.0" and the compile options: part of the cache key.
  virtual std::string version() const = 0;
  // The compute capabilities it compiles for, ascending: 75 for 7.5. Empty: unknown.
  virtual std::vector<int> architectures() const = 0;
  // Returns an image for cuModuleLoadData, for compute capability major.minor. That is machine code, or PTX for a GPU
  // newer than the compiler. INVALID_ARGUMENT with the messages of the compiler.
  virtual Result<std::string> compile(const std::string& source, int major, int minor) = 0;
};

// Opens the NVRTC of this machine (library.h). UNAVAILABLE: there is none, or it is older than CUDA 12.0. `options` are
// passed to every compilation in addition to the architecture: the same as nvcc gets (ArgosyCuda.cmake).
Result<std::shared_ptr<RuntimeCompiler>> open_nvrtc(std::vector<std::string> options = {"--std=c++20"});

// `compiler` with a cache in `folder`, which is made on first use. One file for each source, architecture and version,
// written under another name and renamed, so that processes may share the folder. A file that cannot be read or
// written, or is incomplete, costs one compilation.
std::shared_ptr<RuntimeCompiler> cached(std::shared_ptr<RuntimeCompiler> compiler, std::string folder);
// $ARGOSY_CACHE, else $XDG_CACHE_HOME/argosy, else ~/.cache/argosy; empty: there is none.
std::string default_cache_folder();
// 32 hexadecimal digits over all inputs that decide the result of a compilation.
std::string cache_key(std::string_view source, std::string_view version, int major, int minor);

// The newest architecture of `known` (ascending) that a GPU of this capability can run; unless it is the GPU's own, the
// driver translates it. The GPU's own where there is none.
int nearest_architecture(const std::vector<int>& known, int capability);

}  // namespace argosy::cuda
