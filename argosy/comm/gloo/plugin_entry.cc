// The only symbol that libargosy_gloo.so exports.
#include "argosy/comm/gloo/gloo_engine.h"
#include "argosy/comm/net/net_plugin_build.h"

namespace argosy {

namespace {

NetEngine* make(const NetEngineOptions& options, Status* error) {
  auto engine = GlooEngine::connect(options);
  if (engine.ok()) return engine->release();
  *error = std::move(engine).status();
  return nullptr;
}

// The text must outlive the call.
const char* build() {
  static const std::string text = net_plugin_build_text(ARGOSY_PLUGIN_VERSION);
  return text.c_str();
}

}  // namespace

}  // namespace argosy

extern "C" {
extern __attribute__((visibility("default"))) const argosy::NetPlugin argosy_net_plugin;
const argosy::NetPlugin argosy_net_plugin = {argosy::build(), argosy::make};
}
