// Compiles every kernel source with NVRTC, without nvcc or a GPU. It shows what another major version of nvcc would
// say, or nvcc for a GPU that the installed one no longer knows.
//
//   cuda_sources_test [--only MODULE]… [ARCHITECTURE…]
//
// ARCHITECTURE: 61 for compute capability 6.1; default: the oldest that NVRTC knows. ARGOSY_CUDA_LIBRARIES selects the
// NVRTC (docs/gpu-status.md). Exit code: 0; 1 a source does not compile; 77 no NVRTC.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "argosy/base/str.h"
#include "argosy/device/cuda/driver/runtime_compiler.h"

namespace argosy {
namespace {

namespace fs = std::filesystem;

// The names of <cmath> that sources use: NVRTC has the functions, not the header.
constexpr char kMath[] = "namespace std { using ::abs; using ::sqrt; using ::pow; using ::exp; using ::log; }\n";

// The file's text with the project's own headers in the place of what includes them, each once.
std::string whole(const std::string& path, std::set<std::string>& seen) {
  if (!seen.insert(path).second) return "";
  std::ifstream in(fs::path(ARGOSY_SOURCES) / path);
  std::string text, line;
  while (std::getline(in, line)) {
    constexpr std::string_view kInclude = "#include \"";
    if (line.starts_with(kInclude)) {
      text += whole(line.substr(kInclude.size(), line.rfind('"') - kInclude.size()), seen);
    } else if (!line.starts_with("#include <") && line != "#pragma once") {
      text += line;
    }
    text += '\n';
  }
  return text;
}

std::vector<std::string> sources() {
  std::vector<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(ARGOSY_SOURCES) / "argosy" / "ops")) {
    if (entry.path().string().ends_with("_cuda.cu")) {
      found.push_back(fs::relative(entry.path(), ARGOSY_SOURCES).string());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

int main(int argc, char** argv) {
  std::vector<int> architectures;
  std::set<std::string> only;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--only" && i + 1 < argc) {
      only.insert(argv[++i]);
    } else {
      architectures.push_back(std::atoi(argv[i]));
    }
  }
  // The second, for lambdas: to nvcc they are the device's where the function around them is.
  auto nvrtc = cuda::open_nvrtc({"--std=c++20", "--device-as-default-execution-space"});
  if (!nvrtc.ok()) {
    std::printf("%s\n", nvrtc.status().to_string().c_str());
    return 77;
  }
  if (architectures.empty()) architectures.push_back((*nvrtc)->architectures().at(0));
  int compiled = 0, failed = 0;
  for (const std::string& path : sources()) {
    const std::string module = fs::path(path).stem().string();
    if (!only.empty() && only.count(module.substr(0, module.rfind("_cuda"))) == 0) continue;
    std::set<std::string> seen;
    const std::string source = kMath + whole(path, seen);
    for (const int architecture : architectures) {
      const auto image = (*nvrtc)->compile(source, architecture / 10, architecture % 10);
      const bool made = image.ok() && image->compare(1, 3, "ELF") == 0;
      std::printf("%s %d: %s\n", path.c_str(), architecture,
                  made         ? "compiles"
                  : image.ok() ? "this NVRTC has no code for it"
                               : image.status().to_string().c_str());
      std::fflush(stdout);
      ++(made ? compiled : failed);
    }
  }
  std::printf("%s: %d compiled, %d failed\n", (*nvrtc)->version().c_str(), compiled, failed);
  return failed > 0 || compiled == 0 ? 1 : 0;
}

}  // namespace
}  // namespace argosy

int main(int argc, char** argv) { return argosy::main(argc, argv); }
