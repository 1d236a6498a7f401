// A CUDA plug-in whose cards are fakes, with our kernels compiled for the host and a fake NCCL: what the program does
// with cards, end to end, on a machine that has none. Opened by ARGOSY_CUDA_PLUGIN as any other.
//
// $ARGOSY_FAKE_CARDS says what there is, with commas between: "cards=2", "peers=refused", "peers=lie" (small copies
// too), "peers=lie-large", "host=lie", "nccl=yes", "nccl=old", "libraries=none", "kernels=skipped" (nothing is
// computed), "nodes=named" (and nothing recorded). $ARGOSY_FAKE_CARDS_LOG: a file for all calls (fake/cards.h);
// steps.py reads it.
#include <cstdlib>

#include "argosy/comm/nccl/fake/fake_nccl.h"
#include "argosy/device/plugin.h"
#include "tests/fake_gpu/support/fake_driver_kernels.h"

namespace argosy::cuda::fake {

namespace {

bool told(std::string_view what) {
  const char* const text = std::getenv("ARGOSY_FAKE_CARDS");
  for (const std::string& part : str_split(text == nullptr ? "" : text, ',')) {
    if (str_trim(part) == what) return true;
  }
  return false;
}

Options options() {
  int count = 1;
  for (int n = 2; n <= 8; ++n) {
    if (told(str_cat("cards=", n))) count = n;
  }
  Options options = cards_with_kernels(count);
  options.peers_reach = !told("peers=refused");
  options.peers_lie = told("peers=lie") || told("peers=lie-large");
  if (told("peers=lie-large")) options.lies_from = std::size_t{1} << 20;
  options.host_lies = told("host=lie");
  options.run_kernels = !told("kernels=skipped");
  if (const char* const log = std::getenv("ARGOSY_FAKE_CARDS_LOG")) options.log = log;
  return options;
}

std::vector<LibraryFacts> libraries() {
  if (told("libraries=none")) {
    return {{.name = "cuBLASLt", .problem = "cuBLASLt is not found: libcublasLt.so.13"},
            {.name = "NCCL", .problem = "NCCL is not found: libnccl.so.2"}};
  }
  return {{.name = "cuBLASLt", .version = "13.0.2", .path = "/fake/libcublasLt.so.13"}};
}

// A driver has no end: what it holds stays until the process ends.
GpuBackend* make(Status*) {
  static auto* const cards = new Cards(options());
  static auto* const nccl = new FakeNccl({.version = told("nccl=old") ? 21304 : 22809});
  CudaBackend::Options given = with_kernels();
  given.kernels = add_plugin_kernels;
  if (told("kernels=skipped")) given.compiler = CompilesNothing::make;
  if (told("nodes=named")) given.observer = Cards::observer();
  given.libraries = libraries;
  given.collectives = collective_facts;
  given.nvml_problem = "libnvidia-ml.so.1 is not found";
  auto* const backend = new CudaBackend(cards->driver(), std::move(given));
  if (told("nccl=yes") || told("nccl=old")) {
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
