// NVIDIA's libraries (cuBLASLt, cuDNN, NVRTC, NCCL): found where they usually are, opened when first wanted, refused
// where their version is not one we know. Without one, what needs it declines and the next kernel of the list does the
// work.
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
  std::string wheel;               // its folder in pip's nvidia packages: "cublas"; CUDA 13 has one, "cu13"
  std::string package;             // what pip calls it: "nvidia-cudnn-cu13"
  bool of_cuda = false;            // the file's number is the CUDA release it belongs to
};

// Of libraries that belong to a release of CUDA, this one's or older ones' are looked for first, in all folders: one of
// a newer release than the driver's does not start, and a newer release leaves old GPUs out. Until called: the newest.
void prefer_cuda(int major);
int preferred_cuda();
// What is looked for, group by group: all folders for one group before the next.
std::vector<std::vector<std::string>> file_groups(const LibraryWanted& wanted, int major);

class Library {
 public:
  // In this order: $ARGOSY_CUDA_LIBRARIES (folders, colons between); without that, one that the process has open
  // already, for two cuDNNs in one process get each other's parts; CUDA_HOME, /usr/local/cuda*/lib64, pip's
  // nvidia/*/lib of the python3 on PATH and of ~/.local, the lib folder beside that python3 (conda), and by plain name
  // (LD_LIBRARY_PATH, ldconfig); prefer_cuda() comes before that. The first for which `fits` is OK; what it says of the
  // first that was found, where it is so of none. UNAVAILABLE (ARG-GPU-011) with the file that is missing, or what the
  // loader says of the one that was found.
  using Fits = std::function<Status(const Library&)>;
  static Result<std::shared_ptr<Library>> open(const LibraryWanted& wanted, const Fits& fits = {});

  const std::string& path() const { return path_; }
  // Null where it has none. The library stays open for ever: it keeps threads and state of its own.
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

// The folders searched for `wanted`, in order. `environment` stands in for getenv() in tests.
std::vector<std::string> library_folders(const LibraryWanted& wanted, const char* (*environment)(const char*));

// UNAVAILABLE (ARG-GPU-012): "cuDNN 8.9 in PATH is too old; 9.0 is needed". Numbers as major * 1000 + minor * 10.
Status check_library_version(const LibraryWanted& wanted, const std::string& path, int version, int oldest);

// What `argosy doctor` says of all of them.
std::vector<LibraryFacts> library_facts();

// Those we know; files and packages of CUDA `major` come first.
LibraryWanted cublaslt_wanted(int major = preferred_cuda());
LibraryWanted cudnn_wanted(int major = preferred_cuda());
LibraryWanted nvrtc_wanted(int major = preferred_cuda());
LibraryWanted nccl_wanted(int major = preferred_cuda());

}  // namespace argosy::cuda
