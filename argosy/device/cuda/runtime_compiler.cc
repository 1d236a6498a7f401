#include "argosy/device/cuda/runtime_compiler.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "argosy/base/str.h"
#include "argosy/device/cuda/library.h"

namespace argosy::cuda {

namespace {

// The functions of NVRTC that are used, as its manual gives them; a program is an opaque pointer, results are ints.
struct NvrtcCalls {
  using Program = void*;
  int (*version)(int* major, int* minor) = nullptr;
  int (*create)(Program*, const char* source, const char* name, int headers, const char* const* texts,
                const char* const* names) = nullptr;
  int (*destroy)(Program*) = nullptr;
  int (*compile)(Program, int options, const char* const* values) = nullptr;
  int (*log_size)(Program, std::size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*cubin_size)(Program, std::size_t*) = nullptr;
  int (*cubin)(Program, char*) = nullptr;
  int (*ptx_size)(Program, std::size_t*) = nullptr;
  int (*ptx)(Program, char*) = nullptr;
  int (*count_architectures)(int*) = nullptr;
  int (*architectures)(int*) = nullptr;
};

class Nvrtc final : public RuntimeCompiler {
 public:
  Nvrtc(const NvrtcCalls& calls, int major, int minor) : calls_(calls), version_(str_cat("NVRTC ", major, ".", minor)) {
    int count = 0;
    if (calls.count_architectures(&count) != 0 || count <= 0) return;
    known_.resize(static_cast<std::size_t>(count));
    if (calls.architectures(known_.data()) != 0) known_.clear();
  }

  std::string version() const override { return version_; }
  Result<std::string> compile(const std::string& source, int major, int minor) override {
    const CompileTarget target = compile_target(known_, major, minor);
    if (target.architecture == 0) {
      return failed_precondition(version_, " does not compile for compute capability ", major, ".", minor)
          .with_id("ARG-GPU-013")
          .with_next("pip install nvidia-cuda-nvrtc-cu12, which knows older cards; or ARGOSY_CUDA_LIBRARIES=FOLDER");
    }
    NvrtcCalls::Program program = nullptr;
    if (const int error = calls_.create(&program, source.c_str(), "fused.cu", 0, nullptr, nullptr); error != 0) {
      return internal_error(version_, ": no program could be made (", error, ")").with_id("ARG-GPU-013");
    }
    const std::string architecture =
        str_cat("--gpu-architecture=", target.ptx ? "compute_" : "sm_", target.architecture);
    const char* const options[] = {architecture.c_str(), "--std=c++17"};
    const int error = calls_.compile(program, 2, options);
    Result<std::string> made =
        error == 0 ? image_of(program, target.ptx) : Result<std::string>(refusal(program, architecture));
    calls_.destroy(&program);
    return made;
  }

 private:
  Result<std::string> image_of(NvrtcCalls::Program program, bool ptx) const {
    std::size_t bytes = 0;
    std::string image;
    if ((ptx ? calls_.ptx_size : calls_.cubin_size)(program, &bytes) == 0 && bytes > 0) {
      image.resize(bytes);
      if ((ptx ? calls_.ptx : calls_.cubin)(program, image.data()) == 0) return image;
    }
    return internal_error(version_, ": compiled, but there is no code").with_id("ARG-GPU-013");
  }
  Status refusal(NvrtcCalls::Program program, const std::string& architecture) const {
    std::size_t bytes = 0;
    std::string log;
    if (calls_.log_size(program, &bytes) == 0 && bytes > 1) {
      log.resize(bytes);
      calls_.log(program, log.data());
    }
    return invalid_argument(version_, " ", architecture, ": ", log.c_str()).with_id("ARG-GPU-013");
  }

  const NvrtcCalls calls_;
  const std::string version_;
  std::vector<int> known_;
};

class Cached final : public RuntimeCompiler {
 public:
  Cached(std::shared_ptr<RuntimeCompiler> compiler, std::string folder)
      : compiler_(std::move(compiler)), folder_(std::move(folder)) {}
  std::string version() const override { return compiler_->version(); }
  Result<std::string> compile(const std::string& source, int major, int minor) override {
    const std::filesystem::path file = folder_ / (cache_key(source, version(), major, minor) + ".cubin");
    if (std::ifstream in(file, std::ios::binary); in) {
      std::string image((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
      if (!image.empty()) return image;
    }
    ARGOSY_ASSIGN_OR_RETURN(std::string image, compiler_->compile(source, major, minor));
    std::error_code ignored;
    std::filesystem::create_directories(folder_, ignored);
    const std::filesystem::path aside =
        str_cat(file.string(), ".", getpid(), ".", reinterpret_cast<std::uintptr_t>(&image));
    std::ofstream out(aside, std::ios::binary);
    out.write(image.data(), static_cast<std::streamsize>(image.size()));
    out.close();
    if (out) {
      std::filesystem::rename(aside, file, ignored);
    } else {
      std::filesystem::remove(aside, ignored);
    }
    return image;
  }

 private:
  const std::shared_ptr<RuntimeCompiler> compiler_;
  const std::filesystem::path folder_;
};

std::uint64_t hash(std::string_view text, std::uint64_t h) {  // FNV-1a
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return h;
}

}  // namespace

Result<std::shared_ptr<RuntimeCompiler>> open_nvrtc() {
  const LibraryWanted wanted = nvrtc_wanted();
  ARGOSY_ASSIGN_OR_RETURN(const std::shared_ptr<Library> library, Library::open(wanted));
  NvrtcCalls calls;
  int major = 0, minor = 0;
  const bool whole =
      library->find(&calls.version, "nvrtcVersion") && library->find(&calls.create, "nvrtcCreateProgram") &&
      library->find(&calls.destroy, "nvrtcDestroyProgram") && library->find(&calls.compile, "nvrtcCompileProgram") &&
      library->find(&calls.log_size, "nvrtcGetProgramLogSize") && library->find(&calls.log, "nvrtcGetProgramLog") &&
      library->find(&calls.cubin_size, "nvrtcGetCUBINSize") && library->find(&calls.cubin, "nvrtcGetCUBIN") &&
      library->find(&calls.ptx_size, "nvrtcGetPTXSize") && library->find(&calls.ptx, "nvrtcGetPTX") &&
      library->find(&calls.count_architectures, "nvrtcGetNumSupportedArchs") &&
      library->find(&calls.architectures, "nvrtcGetSupportedArchs");
  if (!whole || calls.version(&major, &minor) != 0) major = minor = 0;
  ARGOSY_RETURN_IF_ERROR(check_library_version(wanted, library->path(), major * 1000 + minor * 10, 12000));
  return std::shared_ptr<RuntimeCompiler>(std::make_shared<Nvrtc>(calls, major, minor));
}

CompileTarget compile_target(std::span<const int> known, int major, int minor) {
  const int card = major * 10 + minor;
  CompileTarget found;
  for (const int architecture : known) {
    if (architecture > card || architecture <= found.architecture) continue;
    found = {.architecture = architecture, .ptx = architecture / 10 != major};
  }
  return found;
}

std::shared_ptr<RuntimeCompiler> cached(std::shared_ptr<RuntimeCompiler> compiler, std::string folder) {
  if (folder.empty()) return compiler;
  return std::make_shared<Cached>(std::move(compiler), std::move(folder));
}

std::string default_cache_folder() {
  if (const char* own = std::getenv("ARGOSY_CACHE")) return own;
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg != nullptr && *xdg != 0) return str_cat(xdg, "/argosy");
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != 0) return str_cat(home, "/.cache/argosy");
  return "";
}

std::string cache_key(std::string_view source, std::string_view version, int major, int minor) {
  const std::string target = str_cat("\n", version, "\n", major, ".", minor, "\n");
  constexpr char kDigits[] = "0123456789abcdef";
  std::string key;
  for (const std::uint64_t start : {0xcbf29ce484222325ull, 0x84222325cbf29ce4ull}) {
    const std::uint64_t h = hash(source, hash(target, start));
    for (int shift = 60; shift >= 0; shift -= 4) key += kDigits[(h >> shift) & 15];
  }
  return key;
}

}  // namespace argosy::cuda
