#include "argosy/device/cuda/nvml.h"

#include <dlfcn.h>

namespace argosy::cuda {

namespace {
constexpr char kLibrary[] = "libnvidia-ml.so.1";
constexpr unsigned kMostLinks = 18;
constexpr unsigned kMostProcesses = 64;
}  // namespace

Result<std::shared_ptr<Nvml>> Nvml::open() {
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);  // never closed, as the driver
  if (library == nullptr) return unavailable(kLibrary, " is not found").with_id("ARG-GPU-009");
  NvmlCalls calls;
  std::string missing;
  const auto find = [&](auto* call, const char* name) {
    *call = reinterpret_cast<std::remove_pointer_t<decltype(call)>>(dlsym(library, name));
    if (*call == nullptr && missing.empty()) missing = name;
  };
  find(&calls.init, "nvmlInit_v2");
  find(&calls.shutdown, "nvmlShutdown");
  find(&calls.driver_version, "nvmlSystemGetDriverVersion");
  find(&calls.card_by_pci, "nvmlDeviceGetHandleByPciBusId_v2");
  find(&calls.memory, "nvmlDeviceGetMemoryInfo");
  find(&calls.utilisation, "nvmlDeviceGetUtilizationRates");
  find(&calls.processes, "nvmlDeviceGetComputeRunningProcesses_v3");
  find(&calls.link_state, "nvmlDeviceGetNvLinkState");
  if (!missing.empty()) return unavailable(kLibrary, " has no ", missing).with_id("ARG-GPU-009");
  return over(calls);
}

Result<std::shared_ptr<Nvml>> Nvml::over(const NvmlCalls& calls) {
  if (const int result = calls.init(); result != 0) {
    return unavailable(kLibrary, " does not start (error ", result, ")").with_id("ARG-GPU-009");
  }
  return std::shared_ptr<Nvml>(new Nvml(calls));
}

Nvml::~Nvml() { calls_.shutdown(); }

std::string Nvml::driver_version() const {
  char text[96] = "";
  return calls_.driver_version(text, sizeof(text) - 1) == 0 ? text : "";
}

void Nvml::look_at(CardFacts& facts) const {
  NvmlCalls::Card card = nullptr;
  if (calls_.card_by_pci(facts.pci.c_str(), &card) != 0) return;
  NvmlCalls::Memory memory;
  if (calls_.memory(card, &memory) == 0) facts.memory_used_bytes = static_cast<std::int64_t>(memory.used);
  NvmlCalls::Utilisation rates;
  if (calls_.utilisation(card, &rates) == 0) facts.utilisation_percent = static_cast<int>(rates.gpu);
  std::vector<NvmlCalls::Process> processes(kMostProcesses);
  unsigned count = kMostProcesses;
  if (calls_.processes(card, &count, processes.data()) == 0) {
    for (unsigned i = 0; i < count && i < kMostProcesses; ++i) {
      // Not told to everybody: all bits are set then.
      const bool known = processes[i].used_bytes != ~0ULL;
      facts.users.push_back(
          str_cat("pid ", processes[i].pid, known ? ", " + format_bytes(processes[i].used_bytes) : ""));
    }
  }
  int links = 0;
  for (unsigned link = 0; link < kMostLinks; ++link) {
    unsigned active = 0;
    if (calls_.link_state(card, link, &active) == 0 && active != 0) ++links;
  }
  if (links > 0) facts.links.push_back(str_cat("NVLink x", links));
}

}  // namespace argosy::cuda
