// Runs a fuzz target over the files of a folder, without a fuzzer: what once crashed must not crash again.
#include <cstdint>
#include <cstdio>
#include <string>

#include "argosy/base/system/file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : ".";
  const auto names = argosy::list_directory(folder);
  if (!names.ok() || names->empty()) {
    std::fprintf(stderr, "no corpus in %s\n", folder.c_str());
    return 1;
  }
  for (const std::string& name : *names) {
    const auto bytes = argosy::read_file(argosy::join_path(folder, name), 1 << 24);
    if (!bytes.ok()) return 1;
    std::printf("%s\n", name.c_str());
    std::fflush(stdout);
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes->data()), bytes->size());
  }
  return 0;
}
