// Finds and opens NVIDIA's optional libraries: cuBLASLt, cuDNN, NVRTC, NCCL. A library is opened on first use, and
// refused when we do not know its version. Without it, the kernels that need it decline and the next kernel of the list
// runs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/base/status.h"
#include "argosy/device/gpu_backend.h"

namespace argosy::cuda {

struct LibraryWanted {
  std::string name;                // "cuBLASLt"
  std::vector<std::string> files;  // best first: "libcublasLt.so.13", "libcublasLt.so.12"
  std::string wheel;               // its folder in pip's nvidia packages: "cublas"; one for all of CUDA 13: "cu13"
  std::string package;             // its name for pip: "nvidia-cudnn-cu13"
  bool of_cuda = false;            // the file's number is its CUDA release
};

// Sets the CUDA release to prefer for libraries that belong to one: this release or older ones come first, in all
// folders. A library newer than the driver does not start, and a newer release drops old GPUs. Default: the newest.
void prefer_cuda(int major);
int preferred_cuda();
// The file names to look for, in groups: all folders are searched for one group before the next.
std::vector<std::vector<std::string>> file_groups(const LibraryWanted& wanted, int major);

class Library {
 public:
  // Searches in this order:
  // 1. $ARGOSY_CUDA_LIBRARIES (folders, separated by colons), and nothing else if it is set.
  // 2. A copy that the process has already opened: two cuDNNs in one process mix up their parts.
  // 3. CUDA_HOME, then /usr/local/cuda*/lib64.
  // 4. pip's nvidia/*/lib of the python3 on PATH and of ~/.local; the lib folder next to that python3 (conda).
  // 5. The plain name (LD_LIBRARY_PATH, ldconfig).
  // prefer_cuda() has priority over this order. Returns the first library for which `fits` is OK. If none fits, returns
  // the error of `fits` for the first one found. UNAVAILABLE (ARG-GPU-011): the file is missing (named), or the loader
  // refuses it (its message).
  using Fits = std::function<Status(const Library&)>;
  static Result<std::shared_ptr<Library>> open(const LibraryWanted& wanted, const Fits& fits = {});

  const std::string& path() const { return path_; }
  // The address of a symbol; null: there is none. The library stays open for ever, because it keeps threads and state.
  void* symbol(const char* name) const;
  template <typename Call>
  bool find(Call* call, const char* name) const {
    *call = reinterpret_cast<Call>(symbol(name));
    return *call != nullptr;
  }

 private:
  Library(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  void* const handle_;
  const std::string path_;
};

// The folders that open() searches for `wanted`, in order. `environment` replaces getenv() in tests.
std::vector<std::string> library_folders(const LibraryWanted& wanted, const char* (*environment)(const char*));

// UNAVAILABLE (ARG-GPU-012): "cuDNN 8.9 in PATH is too old; 9.0 is needed". Numbers as major * 1000 + minor * 10.
Status check_library_version(const LibraryWanted& wanted, const std::string& path, int version, int oldest);

// The facts that `argosy doctor` shows.
std::vector<LibraryFacts> library_facts();

// The libraries we know; files and packages of CUDA `major` come first.
LibraryWanted cublaslt_wanted(int major = preferred_cuda());
LibraryWanted cudnn_wanted(int major = preferred_cuda());
LibraryWanted nvrtc_wanted(int major = preferred_cuda());
LibraryWanted nccl_wanted(int major = preferred_cuda());

}  // namespace argosy::cuda
