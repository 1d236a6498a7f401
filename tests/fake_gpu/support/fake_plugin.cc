// A CUDA plug-in with fake GPUs, our kernels compiled for the host, and a fake NCCL. With it a test runs the program
// end to end on a machine without GPUs. ARGOSY_CUDA_PLUGIN opens it like any other plug-in.
//
// $ARGOSY_FAKE_GPUS describes the machine, separated by commas: "gpus=2", "peers=refused", "peers=lie" (small copies
// too), "peers=lie-large", "host=lie", "nccl=yes", "nccl=old", "libraries=none", "kernels=skipped" (kernels compute
// nothing), "nodes=named" (and no graph is captured). $ARGOSY_FAKE_GPUS_LOG: a file for all calls (fake_driver.h);
// steps.py reads it.
#include <cstdlib>

#include "argosy/comm/nccl/fake/fake_nccl.h"
#include "argosy/device/plugin.h"
#include "tests/fake_gpu/support/fake_driver_kernels.h"

namespace argosy::cuda::fake {

namespace {

// Old names of the variables are read, too.
const char* variable(const char* name, const char* old_name) {
  const char* const text = std::getenv(name);
  return text != nullptr ? text : std::getenv(old_name);
}

bool is_set(std::string_view what) {
  const char* const text = variable("ARGOSY_FAKE_GPUS", "ARGOSY_FAKE_CARDS");
  for (const std::string& part : str_split(text == nullptr ? "" : text, ',')) {
    if (str_trim(part) == what) return true;
  }
  return false;
}

Options options() {
  int count = 1;
  for (int n = 2; n <= 8; ++n) {
    if (is_set(str_cat("gpus=", n)) || is_set(str_cat("cards=", n))) count = n;
  }
  Options options = gpus_with_kernels(count);
  options.peers_reach = !is_set("peers=refused");
  options.peers_lie = is_set("peers=lie") || is_set("peers=lie-large");
  if (is_set("peers=lie-large")) options.lies_from = std::size_t{1} << 20;
  options.host_lies = is_set("host=lie");
  options.run_kernels = !is_set("kernels=skipped");
  if (const char* const log = variable("ARGOSY_FAKE_GPUS_LOG", "ARGOSY_FAKE_CARDS_LOG")) options.log = log;
  return options;
}

std::vector<LibraryFacts> libraries() {
  if (is_set("libraries=none")) {
    return {{.name = "cuBLASLt", .problem = "cuBLASLt is not found: libcublasLt.so.13"},
            {.name = "NCCL", .problem = "NCCL is not found: libnccl.so.2"}};
  }
  return {{.name = "cuBLASLt", .version = "13.0.2", .path = "/fake/libcublasLt.so.13"}};
}

// A driver has no end: what it holds stays until the process ends.
GpuBackend* make(Status*) {
  static auto* const fake_driver = new FakeDriver(options());
  static auto* const nccl = new FakeNccl({.version = is_set("nccl=old") ? 21304 : 22809});
  CudaBackend::Options given = with_kernels();
  given.kernels = add_plugin_kernels;
  if (is_set("kernels=skipped")) given.compiler = CompilesNothing::make;
  if (is_set("nodes=named")) given.observer = FakeDriver::observer();
  given.libraries = libraries;
  given.collectives = collective_facts;
  given.nvml_problem = "libnvidia-ml.so.1 is not found";
  auto* const backend = new CudaBackend(fake_driver->driver(), std::move(given));
  if (is_set("nccl=yes") || is_set("nccl=old")) {
    backend->links().shared(
        "nccl", [&] { return std::make_shared<NcclAvailable>(Nccl::over(nccl->calls(), "/fake/libnccl.so.2")); });
  }
  return backend;
}

const char* build() {
  static const std::string text = plugin_build();
  return text.c_str();
}

}  // namespace

}  // namespace argosy::cuda::fake

extern "C" {
extern __attribute__((visibility("default"))) const argosy::GpuPlugin argosy_gpu_plugin;
const argosy::GpuPlugin argosy_gpu_plugin = {argosy::cuda::fake::build(), argosy::cuda::fake::make};
}
