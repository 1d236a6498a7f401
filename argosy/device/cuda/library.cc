#include "argosy/device/cuda/library.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>

namespace argosy::cuda {

namespace {

namespace fs = std::filesystem;

const char* from_environment(const char* name) { return std::getenv(name); }

constexpr int kNewestCuda = 13;
std::atomic<int> preferred_cuda = kNewestCuda;

// 12 of "libcublasLt.so.12".
int number_of(const std::string& file) { return std::atoi(file.c_str() + file.rfind('.') + 1); }

std::string wheel_of(const LibraryWanted& wanted) {
  return str_cat("nvidia-", wanted.wheel, "-cu", preferred_cuda.load(std::memory_order_relaxed));
}

void add_matching(std::vector<std::string>& folders, const fs::path& in, std::string_view prefix, const char* below) {
  std::error_code error;
  std::vector<std::string> found;
  for (fs::directory_iterator it(in, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().starts_with(prefix)) found.push_back((it->path() / below).string());
  }
  std::sort(found.rbegin(), found.rend());  // newest first
  folders.insert(folders.end(), found.begin(), found.end());
}

// Where the python3 on PATH keeps its packages, without asking it.
std::vector<fs::path> site_packages(const char* path) {
  std::vector<fs::path> found;
  for (const std::string& folder : str_split(path == nullptr ? "" : path, ':')) {
    std::error_code error;
    if (folder.empty() || !fs::exists(fs::path(folder) / "python3", error)) continue;
    const fs::path root = fs::path(folder).parent_path();
    for (const fs::path& lib : {root / "lib", root / "local" / "lib"}) {
      for (fs::directory_iterator it(lib, error), end; !error && it != end; it.increment(error)) {
        if (!it->path().filename().string().starts_with("python3")) continue;
        found.push_back(it->path() / "site-packages");
        found.push_back(it->path() / "dist-packages");
      }
    }
    break;  // the first on PATH is the one that runs
  }
  return found;
}

}  // namespace

void prefer_cuda(int major) { preferred_cuda.store(std::clamp(major, 12, kNewestCuda), std::memory_order_relaxed); }

std::vector<std::vector<std::string>> file_groups(const LibraryWanted& wanted, int major) {
  std::vector<std::string> fit, others;
  for (const std::string& file : wanted.files) {
    (wanted.of_cuda && number_of(file) > major ? others : fit).push_back(file);
  }
  if (others.empty()) return {fit};
  return {fit, others};
}

std::vector<std::string> library_folders(const LibraryWanted& wanted, const char* (*environment)(const char*)) {
  std::vector<std::string> folders;
  const auto text = [&](const char* name) -> std::string {
    const char* const value = environment(name);
    return value == nullptr ? "" : value;
  };
  for (const std::string& folder : str_split(text("ARGOSY_CUDA_LIBRARIES"), ':')) {
    if (!folder.empty()) folders.push_back(folder);
  }
  for (const char* home : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const std::string folder = text(home); !folder.empty()) folders.push_back(folder + "/lib64");
  }
  folders.emplace_back("/usr/local/cuda/lib64");
  add_matching(folders, "/usr/local", "cuda-", "lib64");
  for (const fs::path& packages : site_packages(environment("PATH"))) {
    folders.push_back((packages / "nvidia" / wanted.wheel / "lib").string());
    add_matching(folders, packages / "nvidia", "cu1", "lib");
  }
  folders.emplace_back("");  // by plain name
  return folders;
}

Result<std::shared_ptr<Library>> Library::open(const LibraryWanted& wanted) {
  std::string refused;
  const auto folders = library_folders(wanted, from_environment);
  const auto open_one = [&](const std::string& folder, const std::string& file) -> std::shared_ptr<Library> {
    const std::string path = folder.empty() ? file : folder + "/" + file;
    std::error_code error;
    if (!folder.empty() && !fs::exists(path, error)) return nullptr;
    void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) return std::shared_ptr<Library>(new Library(handle, path));
    const char* const why = dlerror();
    if (!folder.empty() && refused.empty()) refused = why == nullptr ? path : why;
    return nullptr;
  };
  for (const auto& files : file_groups(wanted, preferred_cuda.load(std::memory_order_relaxed))) {
    for (const std::string& folder : folders) {
      for (const std::string& file : files) {
        if (auto library = open_one(folder, file); library != nullptr) return library;
      }
    }
  }
  if (!refused.empty()) {
    return unavailable(wanted.name, " cannot be opened: ", refused)
        .with_id("ARG-GPU-011")
        .with_next("install one that fits the driver, or name its folder: ARGOSY_CUDA_LIBRARIES=FOLDER");
  }
  return unavailable(wanted.name, " is not found: ", str_join(wanted.files))
      .with_id("ARG-GPU-011")
      .with_next(str_cat("pip install ", wheel_of(wanted), ", or ARGOSY_CUDA_LIBRARIES=FOLDER"));
}

void* Library::symbol(const char* name) const { return dlsym(handle_, name); }

Status check_library_version(const LibraryWanted& wanted, const std::string& path, int version, int oldest) {
  if (version >= oldest) return {};
  const auto dotted = [](int v) { return str_cat(v / 1000, ".", v % 1000 / 10); };
  return unavailable(wanted.name, " ", dotted(version), " in ", path, " is too old; ", dotted(oldest), " is needed")
      .with_id("ARG-GPU-012")
      .with_next(str_cat("pip install -U ", wheel_of(wanted), ", or ARGOSY_CUDA_LIBRARIES=FOLDER"));
}

LibraryWanted cublaslt_wanted() { return {"cuBLASLt", {"libcublasLt.so.13", "libcublasLt.so.12"}, "cublas", true}; }
LibraryWanted cudnn_wanted() { return {"cuDNN", {"libcudnn.so.9"}, "cudnn"}; }
LibraryWanted nvrtc_wanted() { return {"NVRTC", {"libnvrtc.so.13", "libnvrtc.so.12"}, "cuda_nvrtc", true}; }
LibraryWanted nccl_wanted() { return {"NCCL", {"libnccl.so.2"}, "nccl"}; }

std::vector<LibraryFacts> library_facts() {
  std::vector<LibraryFacts> all;
  for (const LibraryWanted& wanted : {cublaslt_wanted(), cudnn_wanted(), nvrtc_wanted(), nccl_wanted()}) {
    LibraryFacts facts{.name = wanted.name};
    const auto library = Library::open(wanted);
    if (!library.ok()) {
      facts.problem = library.status().message();
      all.push_back(std::move(facts));
      continue;
    }
    facts.path = (*library)->path();
    // Each says its version in a way of its own.
    std::size_t (*as_size)() = nullptr;
    int (*as_number)(int*) = nullptr;
    int (*as_pair)(int*, int*) = nullptr;
    int number = 0, minor = 0;
    if ((*library)->find(&as_size, "cublasLtGetVersion")) {
      number = static_cast<int>(as_size());
      facts.version = str_cat(number / 10000, ".", number / 100 % 100, ".", number % 100);
    } else if ((*library)->find(&as_size, "cudnnGetVersion")) {
      number = static_cast<int>(as_size());
      facts.version = str_cat(number / 10000, ".", number / 100 % 100, ".", number % 100);
    } else if ((*library)->find(&as_pair, "nvrtcVersion") && as_pair(&number, &minor) == 0) {
      facts.version = str_cat(number, ".", minor);
    } else if ((*library)->find(&as_number, "ncclGetVersion") && as_number(&number) == 0) {
      facts.version = str_cat(number / 10000, ".", number / 100 % 100, ".", number % 100);
    } else {
      facts.problem = str_cat(facts.path, " does not say its version");
    }
    all.push_back(std::move(facts));
  }
  return all;
}

}  // namespace argosy::cuda
