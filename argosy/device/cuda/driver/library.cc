#include "argosy/device/cuda/driver/library.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>

namespace argosy::cuda {

namespace {

namespace fs = std::filesystem;

const char* from_environment(const char* name) { return std::getenv(name); }

constexpr int kNewestCuda = 13;
std::atomic<int> preferred = kNewestCuda;

// Returns the number at the end of a file name: 12 of "libcublasLt.so.12".
int number_of(const std::string& file) { return std::atoi(file.c_str() + file.rfind('.') + 1); }

void add_matching(std::vector<std::string>& folders, const fs::path& in, std::string_view prefix, const char* below) {
  std::error_code error;
  std::vector<std::string> found;
  for (fs::directory_iterator it(in, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().starts_with(prefix)) found.push_back((it->path() / below).string());
  }
  std::sort(found.rbegin(), found.rend());  // newest first
  folders.insert(folders.end(), found.begin(), found.end());
}

// Returns the folder above that of the python3 on PATH: the first python3 found there is the one that runs.
std::optional<fs::path> python_root(const std::string& path) {
  for (const std::string& folder : str_split(path, ':')) {
    std::error_code error;
    if (!folder.empty() && fs::exists(fs::path(folder) / "python3", error)) return fs::path(folder).parent_path();
  }
  return std::nullopt;
}

// Returns the folders of that python3's packages, found without running it; and those of the user, in ~/.local.
std::vector<fs::path> site_packages(const std::optional<fs::path>& python, const std::string& home) {
  std::vector<fs::path> libs, found;
  if (python) libs = {*python / "lib", *python / "local" / "lib"};
  if (!home.empty()) libs.push_back(fs::path(home) / ".local" / "lib");
  for (const fs::path& lib : libs) {
    std::error_code error;
    for (fs::directory_iterator it(lib, error), end; !error && it != end; it.increment(error)) {
      if (!it->path().filename().string().starts_with("python3")) continue;
      found.push_back(it->path() / "site-packages");
      found.push_back(it->path() / "dist-packages");
    }
  }
  return found;
}

// Returns the file of a library that the loader has opened.
std::string path_of(void* handle, const std::string& name) {
  link_map* map = nullptr;
  return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr && *map->l_name != 0 ? map->l_name : name;
}

}  // namespace

void prefer_cuda(int major) { preferred.store(std::clamp(major, 12, kNewestCuda), std::memory_order_relaxed); }
int preferred_cuda() { return preferred.load(std::memory_order_relaxed); }

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
  const std::optional<fs::path> python = python_root(text("PATH"));
  for (const fs::path& packages : site_packages(python, text("HOME"))) {
    folders.push_back((packages / "nvidia" / wanted.wheel / "lib").string());
    add_matching(folders, packages / "nvidia", "cu1", "lib");
  }
  if (python) folders.push_back((*python / "lib").string());
  folders.emplace_back("");  // by plain name
  return folders;
}

Result<std::shared_ptr<Library>> Library::open(const LibraryWanted& wanted, const Fits& fits) {
  std::string refused;
  Status misfit;
  std::shared_ptr<Library> taken;
  const auto take = [&](void* handle, const std::string& path) {
    if (handle == nullptr) return false;
    std::shared_ptr<Library> library(new Library(handle, path));
    Status status = fits ? fits(*library) : ok_status();
    if (status.ok()) taken = std::move(library);
    if (misfit.ok()) misfit = std::move(status);
    return taken != nullptr;
  };
  const auto groups = file_groups(wanted, preferred_cuda());
  if (std::getenv("ARGOSY_CUDA_LIBRARIES") == nullptr) {
    for (const auto& files : groups) {
      for (const std::string& file : files) {
        void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
        if (handle != nullptr && take(handle, path_of(handle, file))) return taken;
      }
    }
  }
  const auto folders = library_folders(wanted, from_environment);
  const auto open_one = [&](const std::string& folder, const std::string& file) {
    const std::string path = folder.empty() ? file : folder + "/" + file;
    std::error_code error;
    if (!folder.empty() && !fs::exists(path, error)) return false;
    void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) return take(handle, path);
    const char* const why = dlerror();
    if (!folder.empty() && refused.empty()) refused = why == nullptr ? path : why;
    return false;
  };
  for (const auto& files : groups) {
    for (const std::string& folder : folders) {
      for (const std::string& file : files) {
        if (open_one(folder, file)) return taken;
      }
    }
  }
  ARGOSY_RETURN_IF_ERROR(misfit);
  if (!refused.empty()) {
    return unavailable(wanted.name, " cannot be opened: ", refused)
        .with_id("ARG-GPU-011")
        .with_hint("install one that fits the driver, or name its folder: ARGOSY_CUDA_LIBRARIES=FOLDER");
  }
  return unavailable(wanted.name, " is not found: ", str_join(wanted.files))
      .with_id("ARG-GPU-011")
      .with_hint(str_cat("pip install ", wanted.package, ", or ARGOSY_CUDA_LIBRARIES=FOLDER"));
}

void* Library::symbol(const char* name) const { return dlsym(handle_, name); }

Status check_library_version(const LibraryWanted& wanted, const std::string& path, int version, int oldest) {
  if (version >= oldest) return {};
  const auto dotted = [](int v) { return str_cat(v / 1000, ".", v % 1000 / 10); };
  return unavailable(wanted.name, " ", dotted(version), " in ", path, " is too old; ", dotted(oldest), " is needed")
      .with_id("ARG-GPU-012")
      .with_hint(str_cat("pip install -U ", wanted.package, ", or ARGOSY_CUDA_LIBRARIES=FOLDER"));
}

namespace {

// A library whose files bear CUDA's version. Since CUDA 13 the names of its packages do not.
LibraryWanted of_toolkit(const char* name, const std::string& file, const char* wheel, const std::string& package,
                         int major) {
  std::vector<std::string> files = {file + "13", file + "12"};
  if (major < 13) std::swap(files[0], files[1]);
  return {name, std::move(files), wheel, major < 13 ? package + "-cu12" : package, true};
}

}  // namespace

LibraryWanted cublaslt_wanted(int major) {
  return of_toolkit("cuBLASLt", "libcublasLt.so.", "cublas", "nvidia-cublas", major);
}
LibraryWanted nvrtc_wanted(int major) {
  return of_toolkit("NVRTC", "libnvrtc.so.", "cuda_nvrtc", "nvidia-cuda-nvrtc", major);
}
LibraryWanted cudnn_wanted(int major) {
  return {"cuDNN", {"libcudnn.so.9"}, "cudnn", str_cat("nvidia-cudnn-cu", major)};
}
LibraryWanted nccl_wanted(int major) { return {"NCCL", {"libnccl.so.2"}, "nccl", str_cat("nvidia-nccl-cu", major)}; }

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
    // Each library reports its version in its own way.
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
