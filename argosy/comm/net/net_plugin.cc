#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "argosy/base/str.h"
#include "argosy/comm/net/host_reads.h"
#include "argosy/comm/net/net_engine.h"
#include "argosy/comm/net/net_plugin_build.h"

namespace argosy {

namespace {

namespace fs = std::filesystem;

constexpr char kFile[] = "libargosy_gloo.so";

// Beside the program, in ../lib of it, beside this library (which may be the program).
std::vector<std::string> places() {
  std::vector<std::string> found;
  const auto add = [&](const fs::path& folder) {
    for (const fs::path& p : {folder / kFile, folder / ".." / "lib" / kFile}) found.push_back(p.lexically_normal());
  };
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) add(program.parent_path());
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&open_gloo), &info) != 0 && info.dli_fname != nullptr) {
    add(fs::absolute(info.dli_fname, error).parent_path());
  }
  return found;
}

Status no_plugin(const std::string& why) {
  return not_found("several tasks need the Gloo plug-in: ", why)
      .with_id("ARG-COMM-020")
      .with_hint("apt install libgloo-dev, then ./argosyw build (or cmake --build, configured anew)");
}

Result<std::string> find() {
  const char* const asked = std::getenv("ARGOSY_GLOO_PLUGIN");
  std::error_code error;
  if (asked != nullptr && *asked != '\0') {
    if (std::string_view(asked) == "none") return no_plugin("ARGOSY_GLOO_PLUGIN=none");
    if (!fs::exists(asked, error)) return no_plugin(str_cat(asked, " is not there"));
    return std::string(asked);
  }
  for (const std::string& file : places()) {
    if (fs::exists(file, error)) return file;
  }
  return no_plugin(str_cat("this build has no ", kFile));
}

}  // namespace

std::string net_plugin_build() { return net_plugin_build_text(ARGOSY_PLUGIN_VERSION); }

Result<std::unique_ptr<NetEngine>> open_gloo(const NetEngineOptions& options) {
  ARGOSY_ASSIGN_OR_RETURN(const std::string file, find());
  // Never closed: its threads may be inside.
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = dlerror();
    return unavailable("the Gloo plug-in cannot be opened: ", why != nullptr ? why : file)
        .with_id("ARG-COMM-021")
        .with_hint("apt install libgloo0");
  }
  const auto* const plugin = static_cast<const NetPlugin*>(dlsym(library, kNetPluginSymbol));
  if (plugin == nullptr || plugin->build == nullptr || plugin->make == nullptr) {
    return failed_precondition(file, " is no plug-in of argosy's: it has no ", kNetPluginSymbol)
        .with_id("ARG-COMM-022");
  }
  if (plugin->build != net_plugin_build()) {
    return failed_precondition(file, " belongs to another build: it is for \"", plugin->build, "\", this is \"",
                               net_plugin_build(), "\"")
        .with_id("ARG-COMM-022")
        .with_hint("install both from one build");
  }
  Status error;
  std::unique_ptr<NetEngine> engine(plugin->make(options, &error));
  if (engine == nullptr) return error.ok() ? unavailable(file, " gives no reason").with_id("ARG-COMM-023") : error;
  auto over = with_host_reads(std::move(engine));
  if (!over.ok()) {
    return Status(over.status().code(), over.status().message())
        .with_id("ARG-COMM-023")
        .with_where(str_cat("task ", options.rank, " of ", options.size, " at ", options.address))
        .with_hint("argosy cluster check; the first cause is in the log of the task that ended first");
  }
  return over;
}

}  // namespace argosy
