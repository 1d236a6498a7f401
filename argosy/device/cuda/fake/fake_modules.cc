// Modules and launches of the fake driver: kernels are symbols of shared objects, run on their stream's thread.
#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <optional>

#include "argosy/device/cuda/fake/fake_driver_state.h"
#include "argosy/device/cuda/fake/on_host_run.h"

namespace argosy::cuda::fake {

namespace {

using State = FakeDriver::State;

struct LoadedModule : Module {
  std::map<std::string, std::unique_ptr<Function>> functions;
};

CuResult module_load(CuModule* out, const void* image) {
  if (current_context() == nullptr) return kCuInvalidContext;
  if (const CuResult error = current_error(); error != kCuSuccess) return error;
  State* const s = State::current();
  std::string path = static_cast<const char*>(image);
  if (constexpr std::string_view kEnd = ".so"; s->options.ways.watch && path.ends_with(kEnd))
    path.insert(path.size() - kEnd.size(), "_watched");
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr && s->options.ways.watch) s->violation(str_cat("to be watched: ", dlerror()));
  if (library == nullptr) return kCuInvalidImage;
  auto* const module = new LoadedModule;
  module->library = library;
  module->context = current_context();
  std::lock_guard lock(s->mutex);
  s->objects.insert(module);
  *out = reinterpret_cast<CuModule>(module);
  return kCuSuccess;
}
CuResult module_unload(CuModule handle) {
  State* const s = State::current();
  auto* const module = reinterpret_cast<LoadedModule*>(handle);
  if (current_context() != module->context) return kCuInvalidContext;
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
    static constexpr on_host::Kernel kNothing = {
        .run_thread = nullptr, .parameters = 0, .sizes = nullptr, .most_threads = 1024};
    const void* symbol = dlsym(module->library, str_cat(name, "_on_host").c_str());
    if (symbol == nullptr && !s->options.run_kernels) symbol = &kNothing;
    if (symbol == nullptr) {
      module->functions.erase(name);
      return kCuNotFound;
    }
    function = std::make_unique<Function>(
        Function{.name = name, .kernel = static_cast<const on_host::Kernel*>(symbol), .context = module->context});
  }
  *out = reinterpret_cast<CuFunction>(function.get());
  return kCuSuccess;
}
CuResult function_attribute(CuFunction function, int attribute, int value) {
  if (attribute != kCuFunctionMaxDynamicShared || value < 0 || value > 96 << 10) return kCuInvalidValue;
  std::lock_guard lock(State::current()->mutex);
  reinterpret_cast<Function*>(function)->shared_bytes = static_cast<unsigned>(value);
  return kCuSuccess;
}

CuResult launch(CuFunction handle, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                unsigned block_y, unsigned block_z, unsigned shared_bytes, CuStream stream_handle, void** arguments,
                void** extra) {
  if (const CuResult error = current_error(); error != kCuSuccess) return error;
  State* const s = State::current();
  const auto* const function = reinterpret_cast<const Function*>(handle);
  auto* const stream = reinterpret_cast<Stream*>(stream_handle);
  if (current_context() != stream->context || function->context != stream->context) return kCuInvalidContext;
  const std::uint64_t threads = std::uint64_t{block_x} * block_y * block_z;
  if (extra != nullptr || grid_x == 0 || grid_x > 0x7fffffff || grid_y == 0 || grid_z == 0 || grid_y > 65535 ||
      grid_z > 65535 || threads == 0 || threads > static_cast<std::uint64_t>(function->kernel->most_threads) ||
      block_z > 64 || shared_bytes > function->shared_bytes) {
    return kCuInvalidValue;
  }
  const on_host::Kernel* const kernel = function->kernel;
  std::size_t parameter_bytes = 0;  // without what aligns them
  for (int i = 0; i < kernel->parameters; ++i) parameter_bytes += kernel->sizes[i];
  if (parameter_bytes > 4096) return kCuInvalidValue;  // more only from CUDA 12.1 and compute capability 7.0 on
  // The driver copies arguments at the call.
  auto values = std::make_shared<std::vector<std::vector<std::byte>>>();
  for (int i = 0; i < kernel->parameters; ++i) {
    const auto* const value = static_cast<const std::byte*>(arguments[i]);
    values->emplace_back(value, value + kernel->sizes[i]);
  }
  if (s->options.ways.blocks > 0) grid_x = std::min(grid_x, s->options.ways.blocks);
  std::lock_guard lock(s->mutex);
  if (stream->capture == nullptr) ++s->counts.launch_calls;
  const std::string name = function->name;
  return s->push(stream, {.name = "kernel " + name,
                          .run = [=]() -> CuResult {
                            std::vector<void*> pointers;
                            std::vector<GpuState*> peers;
                            std::optional<on_host::Watch> watch;
                            on_host::Ways ways;
                            {
                              std::unique_lock inner(s->mutex);
                              for (auto& value : *values) {
                                pointers.push_back(value.data());
                                CuPointer p = 0;
                                if (value.size() != sizeof(p)) continue;
                                std::memcpy(&p, value.data(), sizeof(p));
                                if (s->gpu_at(p) != nullptr) s->check_memory(name.c_str(), p, 0);
                              }
                              if (s->fail_launch_in > 0 && --s->fail_launch_in == 0) return s->launch_failure;
                              if (s->hang_launch_in > 0 && --s->hang_launch_in == 0)
                                s->changed.wait(inner, [&] { return s->hang_ended; });
                              peers = s->touch_peers(stream->context->gpu);
                              // The number of the launch: what an accident of one order hides, another shows.
                              if (s->order != 0) ways.order = s->order + ++s->ordered;
                              if (s->options.ways.watch)
                                ways.watch = &watch.emplace(s->reachable(stream->context->gpu));
                            }
                            const Status status = s->options.run_kernels
                                                      ? on_host::run(*kernel, {grid_x, grid_y, grid_z},
                                                                     {block_x, block_y, block_z}, pointers.data(), ways)
                                                      : Status();
                            std::lock_guard inner(s->mutex);
                            for (GpuState* const peer : peers) s->touch(peer, false);
                            ++s->counts.launches;
                            s->kernels.push_back(name);
                            if (s->launched.insert(name).second && !s->options.ways.launched.empty())
                              std::ofstream(s->options.ways.launched, std::ios::app) << name << "\n";
                            if (watch.has_value()) {
                              for (const std::string& what : watch->found()) s->violation(str_cat(name, ": ", what));
                            }
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
