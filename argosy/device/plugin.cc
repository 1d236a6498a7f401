#include "argosy/device/plugin.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

namespace argosy {

namespace {

namespace fs = std::filesystem;

constexpr char kFile[] = "libargosy_cuda.so";
constexpr int kInterface = 2;

// The files to try, in order: in the program's folder and in this library's (which may be the program), each followed
// by its ../lib.
std::vector<std::string> places() {
  std::vector<std::string> found;
  const auto add = [&](const fs::path& folder) {
    for (const fs::path& p : {folder / kFile, folder / ".." / "lib" / kFile}) found.push_back(p.lexically_normal());
  };
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) add(program.parent_path());
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&open_cuda_plugin), &info) != 0 && info.dli_fname != nullptr) {
    add(fs::absolute(info.dli_fname, error).parent_path());
  }
  return found;
}

Status no_plugin(const std::string& why, std::string_view next) {
  return not_found("no CUDA plug-in: ", why).with_id("ARG-GPU-001").with_hint(std::string(next));
}

Result<std::shared_ptr<GpuBackend>> open(const std::string& file) {
  // The plug-in is never closed: a driver keeps threads of its own, which may be inside functions of the plug-in.
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = dlerror();
    return unavailable("the CUDA plug-in cannot be opened: ", why != nullptr ? why : file).with_id("ARG-GPU-002");
  }
  const auto* const plugin = static_cast<const GpuPlugin*>(dlsym(library, kGpuPluginSymbol));
  if (plugin == nullptr || plugin->build == nullptr || plugin->make == nullptr) {
    return failed_precondition(file, " is no plug-in of argosy's: it has no ", kGpuPluginSymbol).with_id("ARG-GPU-002");
  }
  if (plugin->build != plugin_build()) {
    return failed_precondition(file, " belongs to another build: it is for \"", plugin->build, "\", this is \"",
                               plugin_build(), "\"")
        .with_id("ARG-GPU-002")
        .with_hint("install both from one build");
  }
  Status error;
  std::shared_ptr<GpuBackend> backend(plugin->make(&error));
  if (backend == nullptr) return error.ok() ? unavailable(file, " gives no reason").with_id("ARG-GPU-002") : error;
  return backend;
}

}  // namespace

std::string plugin_build() { return str_cat(ARGOSY_PLUGIN_VERSION, " gpu-", kInterface); }

Result<std::shared_ptr<GpuBackend>> open_cuda_plugin() {
  const char* const asked = std::getenv("ARGOSY_CUDA_PLUGIN");
  if (asked != nullptr && std::string_view(asked) == "none") {
    return no_plugin("ARGOSY_CUDA_PLUGIN=none", "unset ARGOSY_CUDA_PLUGIN");
  }
  std::error_code error;
  if (asked != nullptr && *asked != '\0') {
    if (!fs::exists(asked, error)) return no_plugin(str_cat(asked, " is not there"), "ARGOSY_CUDA_PLUGIN=FILE");
    return open(asked);
  }
  for (const std::string& file : places()) {
    if (fs::exists(file, error)) return open(file);
  }
  return no_plugin(str_cat("this build has no ", kFile),
                   "build one where nvcc is: ./argosyw build, or cmake --workflow --preset cuda");
}

}  // namespace argosy
