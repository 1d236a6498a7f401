#include "argosy/device/cuda/driver/runtime_compiler.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "argosy/base/str.h"
#include "argosy/device/cuda/driver/library.h"

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
  Nvrtc(const NvrtcCalls& calls, int major, int minor, std::vector<std::string> options)
      : calls_(calls), version_(str_cat("NVRTC ", major, ".", minor)), options_(std::move(options)) {
    int count = 0;
    if (calls_.count_architectures(&count) != 0 || count <= 0) return;
    architectures_.resize(static_cast<std::size_t>(count));
    if (calls_.architectures(architectures_.data()) != 0) architectures_.clear();
    std::sort(architectures_.begin(), architectures_.end());
  }

  std::string version() const override {
    std::string all = version_;
    for (const std::string& option : options_) all += str_cat(" ", option);
    return all;
  }
  std::vector<int> architectures() const override { return architectures_; }
  Result<std::string> compile(const std::string& source, int major, int minor) override {
    NvrtcCalls::Program program = nullptr;
    if (const int error = calls_.create(&program, source.c_str(), "fused.cu", 0, nullptr, nullptr); error != 0) {
      return internal_error(version_, ": no program could be made (", error, ")").with_id("ARG-GPU-013");
    }
    const int capability = 10 * major + minor;
    const int target = nearest_architecture(architectures_, capability);
    const std::string architecture = str_cat("--gpu-architecture=", target == capability ? "sm_" : "compute_", target);
    std::vector<const char*> options = {architecture.c_str()};
    for (const std::string& option : options_) options.push_back(option.c_str());
    const int error = calls_.compile(program, static_cast<int>(options.size()), options.data());
    Result<std::string> made = error != 0             ? Result<std::string>(refusal(program, architecture))
                               : target == capability ? image_of(program, calls_.cubin_size, calls_.cubin)
                                                      : image_of(program, calls_.ptx_size, calls_.ptx);
    calls_.destroy(&program);
    return made;
  }

 private:
  Result<std::string> image_of(NvrtcCalls::Program program, int (*size)(NvrtcCalls::Program, std::size_t*),
                               int (*get)(NvrtcCalls::Program, char*)) const {
    std::size_t bytes = 0;
    std::string image;
    if (size(program, &bytes) == 0 && bytes > 0) {
      image.resize(bytes);
      if (get(program, image.data()) == 0) return image;
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
  const std::vector<std::string> options_;
  std::vector<int> architectures_;
};

std::uint64_t hash(std::string_view text, std::uint64_t h) {  // FNV-1a
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return h;
}
void append_digits(std::string& text, std::uint64_t h) {
  for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[(h >> shift) & 15];
}
constexpr std::uint64_t kStart = 0xcbf29ce484222325ull, kOtherStart = 0x84222325cbf29ce4ull;

// The last bytes of a cache file: a checksum, which reveals a file that is cut short or damaged.
std::string seal_of(std::string_view image) {
  std::string seal;
  append_digits(seal, hash(image, kStart));
  return seal;
}

class Cached final : public RuntimeCompiler {
 public:
  Cached(std::shared_ptr<RuntimeCompiler> compiler, std::string folder)
      : compiler_(std::move(compiler)), folder_(std::move(folder)) {}
  std::string version() const override { return compiler_->version(); }
  std::vector<int> architectures() const override { return compiler_->architectures(); }
  Result<std::string> compile(const std::string& source, int major, int minor) override {
    const std::filesystem::path file = folder_ / (cache_key(source, version(), major, minor) + ".cubin");
    if (std::ifstream in(file, std::ios::binary); in) {
      std::string image((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
      const std::size_t bytes = image.size() - std::min(image.size(), kSealBytes);
      if (bytes > 0 && image.substr(bytes) == seal_of(std::string_view(image).substr(0, bytes))) {
        image.resize(bytes);
        return image;
      }
    }
    ARGOSY_ASSIGN_OR_RETURN(std::string image, compiler_->compile(source, major, minor));
    std::error_code ignored;
    std::filesystem::create_directories(folder_, ignored);
    const std::filesystem::path aside =
        str_cat(file.string(), ".", getpid(), ".", reinterpret_cast<std::uintptr_t>(&image));
    std::ofstream out(aside, std::ios::binary);
    out.write(image.data(), static_cast<std::streamsize>(image.size()));
    out << seal_of(image);
    out.close();
    std::error_code failed;
    if (out) std::filesystem::rename(aside, file, failed);
    if (!out || failed) std::filesystem::remove(aside, ignored);
    return image;
  }

 private:
  static constexpr std::size_t kSealBytes = 16;
  const std::shared_ptr<RuntimeCompiler> compiler_;
  const std::filesystem::path folder_;
};

}  // namespace

Result<std::shared_ptr<RuntimeCompiler>> open_nvrtc(std::vector<std::string> options) {
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
  return std::shared_ptr<RuntimeCompiler>(std::make_shared<Nvrtc>(calls, major, minor, std::move(options)));
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
  std::string key;
  for (const std::uint64_t start : {kStart, kOtherStart}) append_digits(key, hash(source, hash(target, start)));
  return key;
}

int nearest_architecture(const std::vector<int>& known, int capability) {
  const auto above = std::upper_bound(known.begin(), known.end(), capability);
  return above == known.begin() ? capability : *(above - 1);
}

}  // namespace argosy::cuda
