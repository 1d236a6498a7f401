// Modules and launches of the fake driver: kernels are symbols of shared objects, run on their stream's thread.
#include <dlfcn.h>

#include <cstring>

#include "argosy/device/cuda/fake/on_host_run.h"
#include "argosy/device/cuda/fake/state.h"

namespace argosy::cuda::fake {

namespace {

using State = Cards::State;

struct LoadedModule : Module {
  std::map<std::string, std::unique_ptr<Function>> functions;
};

CuResult module_load(CuModule* out, const void* image) {
  if (current_context() == nullptr) return kCuInvalidContext;
  if (const CuResult error = current_error(); error != kCuSuccess) return error;
  State* const s = State::current();
  void* const library = dlopen(static_cast<const char*>(image), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return kCuInvalidImage;
  auto* const module = new LoadedModule;
  module->library = library;
  std::lock_guard lock(s->mutex);
  s->objects.insert(module);
  *out = reinterpret_cast<CuModule>(module);
  return kCuSuccess;
}
CuResult module_unload(CuModule handle) {
  State* const s = State::current();
  auto* const module = reinterpret_cast<LoadedModule*>(handle);
  std::lock_guard lock(s->mutex);
  s->objects.erase(module);
  dlclose(module->library);
  delete module;
  return kCuSuccess;
}
CuResult module_function(CuFunction* out, CuModule handle, const char* name) {
  State* const s = State::current();
  auto* const module = reinterpret_cast<LoadedModule*>(handle);
  std::lock_guard lock(s->mutex);
  auto& function = module->functions[name];
  if (function == nullptr) {
    static constexpr on_host::Kernel kNothing = {};
    const void* symbol = dlsym(module->library, str_cat(name, "_on_host").c_str());
    if (symbol == nullptr && !s->options.run_kernels) symbol = &kNothing;
    if (symbol == nullptr) {
      module->functions.erase(name);
      return kCuNotFound;
    }
    function = std::make_unique<Function>(Function{name, static_cast<const on_host::Kernel*>(symbol)});
  }
  *out = reinterpret_cast<CuFunction>(function.get());
  return kCuSuccess;
}
CuResult function_attribute(CuFunction, int attribute, int value) {
  return attribute == kCuFunctionMaxDynamicShared && value <= 96 << 10 ? kCuSuccess : kCuInvalidValue;
}

CuResult launch(CuFunction handle, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                unsigned block_y, unsigned block_z, unsigned shared_bytes, CuStream stream_handle, void** arguments,
                void** extra) {
  if (const CuResult error = current_error(); error != kCuSuccess) return error;
  State* const s = State::current();
  const auto* const function = reinterpret_cast<const Function*>(handle);
  auto* const stream = reinterpret_cast<Stream*>(stream_handle);
  if (current_context() != stream->context) return kCuInvalidContext;
  if (extra != nullptr || grid_x == 0 || grid_y == 0 || grid_z == 0 || block_x * block_y * block_z == 0 ||
      block_x * block_y * block_z > 1024 || grid_y > 65535 || grid_z > 65535 || shared_bytes > 96 << 10) {
    return kCuInvalidValue;
  }
  const on_host::Kernel* const kernel = function->kernel;
  // The driver copies arguments at the call.
  auto values = std::make_shared<std::vector<std::vector<std::byte>>>();
  for (int i = 0; i < kernel->parameters; ++i) {
    const auto* const value = static_cast<const std::byte*>(arguments[i]);
    values->emplace_back(value, value + kernel->sizes[i]);
  }
  std::lock_guard lock(s->mutex);
  if (!stream->capturing) ++s->counts.launch_calls;
  const std::string name = function->name;
  return s->push(stream, {.name = "kernel " + name,
                          .run = [=]() -> CuResult {
                            std::vector<void*> pointers;
                            std::vector<CardState*> peers;
                            {
                              std::unique_lock inner(s->mutex);
                              for (auto& value : *values) {
                                pointers.push_back(value.data());
                                CuPointer p = 0;
                                if (value.size() != sizeof(p)) continue;
                                std::memcpy(&p, value.data(), sizeof(p));
                                if (s->card_at(p) != nullptr) s->check_memory(name.c_str(), p, 0);
                              }
                              if (s->fail_launch_in > 0 && --s->fail_launch_in == 0) return s->launch_failure;
                              if (s->hang_launch_in > 0 && --s->hang_launch_in == 0)
                                s->changed.wait(inner, [&] { return s->hang_ended; });
                              peers = s->touch_peers(stream->context->card);
                            }
                            const Status status = s->options.run_kernels
                                                      ? on_host::run(*kernel, {grid_x, grid_y, grid_z},
                                                                     {block_x, block_y, block_z}, pointers.data())
                                                      : Status();
                            std::lock_guard inner(s->mutex);
                            for (CardState* const peer : peers) s->touch(peer, false);
                            ++s->counts.launches;
                            s->kernels.push_back(name);
                            if (status.ok()) return kCuSuccess;
                            s->violation(str_cat(name, ": ", status.message()));
                            return kCuLaunchFailed;
                          },
                          .touches_memory = true,
                          .blocks = std::uint64_t{grid_x} * grid_y* grid_z});
}

}  // namespace

void add_module_calls(DriverCalls& calls) {
  calls.cuModuleLoadData = module_load;
  calls.cuModuleUnload = module_unload;
  calls.cuModuleGetFunction = module_function;
  calls.cuFuncSetAttribute = function_attribute;
  calls.cuLaunchKernel = launch;
}

}  // namespace argosy::cuda::fake
