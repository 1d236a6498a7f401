// The version and build of this program, and the libraries that it found when it ran.
#pragma once

#include <string>
#include <vector>

namespace argosy::cli {

struct BuildInfo {
  std::string version;     // "0.1.0"
  std::string compiler;    // "GNU 12.2.0"
  std::string type;        // "Release"
  std::string sanitizers;  // "" in a plain build
};
struct Library {
  std::string name, version;
};

BuildInfo build_info();
std::vector<Library> libraries();
// Device backends in this build: "cpu", "emulated", …
std::vector<std::string> backends();
// Why there are no CUDA devices here; empty: there may be.
std::string cuda_problem();
// The vector instructions oneDNN uses here: "AVX512_CORE_AMX".
std::string onednn_isa();

// The text of `argosy version`.
std::string version_text();

}  // namespace argosy::cli
