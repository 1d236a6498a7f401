#include "tools/argosy/version.h"

// jpeglib.h uses FILE and size_t without including them.
#include <cstdio>

#include <isa-l.h>
#include <jpeglib.h>
#include <leveldb/db.h>
#include <oneapi/dnnl/dnnl.h>
#include <png.h>
#include <zlib.h>

#include <nlohmann/json.hpp>

#include "argosy/base/str.h"
#include "argosy/device/plugin.h"
#include "tools/argosy/build_info.h"
#include "tools/argosy/cli/command.h"
#include "tools/argosy/cli/console.h"
#include "tools/argosy/cli/exit_code.h"

namespace argosy::cli {

BuildInfo build_info() { return {ARGOSY_VERSION, ARGOSY_COMPILER, ARGOSY_BUILD_TYPE, ARGOSY_SANITIZERS}; }

std::vector<Library> libraries() {
  const dnnl_version_t* dnnl = dnnl_version();
  const unsigned png = png_access_version_number();  // 10639 is 1.6.39
  return {
      {"oneDNN", str_cat(dnnl->major, ".", dnnl->minor, ".", dnnl->patch)},
      {"Highway", ARGOSY_HIGHWAY},
      {"ISA-L", str_cat(ISAL_MAJOR_VERSION, ".", ISAL_MINOR_VERSION, ".", ISAL_PATCH_VERSION)},
      {"LevelDB", str_cat(leveldb::kMajorVersion, ".", leveldb::kMinorVersion)},
      {"libpng", str_cat(png / 10000, ".", png / 100 % 100, ".", png % 100)},
      {"libjpeg", str_cat(JPEG_LIB_VERSION / 10, ".", JPEG_LIB_VERSION % 10)},
      {"zlib", zlibVersion()},
  };
}

std::vector<std::string> backends() {
  std::vector<std::string> names = {"cpu", "emulated", "null"};
  if (cuda_problem().empty()) names.insert(names.begin() + 1, "cuda");
  return names;
}

std::string cuda_problem() {
  const auto plugin = open_cuda_plugin();
  return plugin.ok() ? std::string() : plugin.status().message();
}

std::string onednn_isa() {
  switch (dnnl_get_effective_cpu_isa()) {
    case dnnl_cpu_isa_sse41: return "SSE41";
    case dnnl_cpu_isa_avx: return "AVX";
    case dnnl_cpu_isa_avx2: return "AVX2";
    case dnnl_cpu_isa_avx2_vnni: return "AVX2_VNNI";
    case dnnl_cpu_isa_avx512_core: return "AVX512_CORE";
    case dnnl_cpu_isa_avx512_core_vnni: return "AVX512_CORE_VNNI";
    case dnnl_cpu_isa_avx512_core_bf16: return "AVX512_CORE_BF16";
    case dnnl_cpu_isa_avx512_core_amx: return "AVX512_CORE_AMX";
    default: return "plain";
  }
}

std::string version_text() {
  const BuildInfo build = build_info();
  std::string text =
      str_cat("argosy ", build.version, "\n  built with  ", build.compiler, ", ", build.type,
              build.sanitizers.empty() ? "" : ", sanitizers: " + build.sanitizers, "\n  backends    ",
              str_join(backends()), cuda_problem().empty() ? "" : str_cat(" (", cuda_problem(), ")"), "\n");
  std::vector<std::string> names;
  for (const Library& library : libraries()) names.push_back(str_cat(library.name, " ", library.version));
  return text + str_cat("  libraries   ", str_join(names), "\n  oneDNN uses ", onednn_isa(), "\n");
}

void define_version(Command& program) {
  program.add("version", "What this program is made of")
      .example("argosy version", "the version, the build and its libraries")
      .example("argosy version --json", "the same for scripts")
      .json()
      .runs([](Console& console) -> Result<int> {
        if (!console.json()) return console.print(version_text()), kDone;
        nlohmann::ordered_json found = nlohmann::ordered_json::object();
        for (const Library& library : libraries()) found[library.name] = library.version;
        const BuildInfo build = build_info();
        const nlohmann::ordered_json document = {{"schema_version", 1},
                                                 {"version", build.version},
                                                 {"compiler", build.compiler},
                                                 {"build_type", build.type},
                                                 {"sanitizers", build.sanitizers},
                                                 {"backends", backends()},
                                                 {"cuda_problem", cuda_problem()},
                                                 {"onednn_isa", onednn_isa()},
                                                 {"libraries", found}};
        return console.print(document.dump(2) + "\n"), kDone;
      });
}

}  // namespace argosy::cli
