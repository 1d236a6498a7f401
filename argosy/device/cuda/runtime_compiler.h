// CUDA C++ compiled while the program runs: by NVRTC where it is, and a cache on disk, so that each source is compiled
// once for each architecture and version of NVRTC.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "argosy/base/status.h"

namespace argosy::cuda {

// Thread-safe.
class RuntimeCompiler {
 public:
  virtual ~RuntimeCompiler() = default;
  // "NVRTC 13.0": part of the key of what is cached.
  virtual std::string version() const = 0;
  // What cuModuleLoadData takes, for compute capability major.minor. INVALID_ARGUMENT with the compiler's own messages.
  virtual Result<std::string> compile(const std::string& source, int major, int minor) = 0;
};

// What NVRTC is to compile for, of the architectures it knows (90: compute capability 9.0), for a card: machine code of
// the card's own, or of an older one of its generation, which runs there; else PTX of the newest before the card's, for
// the driver to translate. Nothing: the card is older than all of them.
struct CompileTarget {
  int architecture = 0;  // 0: nothing
  bool ptx = false;
  bool operator==(const CompileTarget&) const = default;
};
CompileTarget compile_target(std::span<const int> known, int major, int minor);

// NVRTC as found on this machine (library.h). UNAVAILABLE where there is none, or one older than CUDA 12.0.
Result<std::shared_ptr<RuntimeCompiler>> open_nvrtc();

// `compiler` with a cache in `folder`, made at the first need: one file a source, architecture and version, written
// aside and renamed, so that processes may share it. A file that cannot be read or written costs a compilation, nothing
// else.
std::shared_ptr<RuntimeCompiler> cached(std::shared_ptr<RuntimeCompiler> compiler, std::string folder);
// $ARGOSY_CACHE, else $XDG_CACHE_HOME/argosy, else ~/.cache/argosy; empty: nowhere.
std::string default_cache_folder();
// 32 hexadecimal digits of what decides a compilation's result.
std::string cache_key(std::string_view source, std::string_view version, int major, int minor);

}  // namespace argosy::cuda
