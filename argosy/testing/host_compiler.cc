#include "argosy/testing/host_compiler.h"

#include <cstdlib>
#include <fstream>

#include "argosy/base/system/test_files.h"
#include "argosy/device/cuda/fake/fake_driver.h"

namespace argosy {

namespace {

class HostCompiler final : public cuda::RuntimeCompiler {
 public:
  std::string version() const override { return "host"; }
  std::vector<int> architectures() const override { return {}; }
  Result<std::string> compile(const std::string& source, int major, int minor) override {
    static const TempDirectory folder;  // this process's: another may compile the same now
    const std::string stem = folder.path(cuda::cache_key(source, version(), major, minor));
    std::ofstream(stem + ".cc") << source;
    const std::string compiler = "c++ -std=c++20 -O1 -fPIC -I" ARGOSY_SOURCES " ";
    std::string command = str_cat(compiler, "-shared -o ", stem, ".so ", stem, ".cc");
    if (cuda::fake::ways_of_environment().watch) {  // as argosy_kernels_on_host() of cmake/ArgosyTargets.cmake does
      command = str_cat(compiler, "-g1 -fsanitize=thread,alignment -DARGOSY_WATCHED -c -o ", stem, ".o ", stem,
                        ".cc && ", compiler, "-shared -o ", stem, "_watched.so ", stem,
                        ".o " ARGOSY_SOURCES "/argosy/device/cuda/fake/watched.cc");
    }
    const int failed = std::system(command.c_str());  // NOLINT(cert-env33-c): a compiler is a program
    if (failed != 0) return unavailable("the host's compiler failed: ", command);
    return stem + ".so";
  }
};

}  // namespace

std::shared_ptr<cuda::RuntimeCompiler> host_compiler() { return std::make_shared<HostCompiler>(); }

}  // namespace argosy
