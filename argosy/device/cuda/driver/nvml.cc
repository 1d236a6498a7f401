#include "argosy/device/cuda/driver/nvml.h"

#include <dlfcn.h>

namespace argosy::cuda {

namespace {
constexpr char kLibrary[] = "libnvidia-ml.so.1";
constexpr std::size_t kProcesses = 64;
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
  find(&calls.handle_by_pci, "nvmlDeviceGetHandleByPciBusId_v2");
  find(&calls.memory, "nvmlDeviceGetMemoryInfo");
  find(&calls.utilisation, "nvmlDeviceGetUtilizationRates");
  find(&calls.processes, "nvmlDeviceGetComputeRunningProcesses_v3");
  find(&calls.link_state, "nvmlDeviceGetNvLinkState");
  if (!missing.empty()) return unavailable(kLibrary, " has no ", missing).with_id("ARG-GPU-009");
  calls.library_version = reinterpret_cast<decltype(calls.library_version)>(dlsym(library, "nvmlSystemGetNVMLVersion"));
  calls.ecc_errors = reinterpret_cast<decltype(calls.ecc_errors)>(dlsym(library, "nvmlDeviceGetTotalEccErrors"));
  calls.remapped_rows = reinterpret_cast<decltype(calls.remapped_rows)>(dlsym(library, "nvmlDeviceGetRemappedRows"));
  calls.index = reinterpret_cast<decltype(calls.index)>(dlsym(library, "nvmlDeviceGetIndex"));
  Dl_info info;
  const bool known = dladdr(reinterpret_cast<const void*>(calls.init), &info) != 0 && info.dli_fname != nullptr;
  return over(calls, known ? info.dli_fname : kLibrary);
}

Result<std::shared_ptr<Nvml>> Nvml::over(const NvmlCalls& calls, std::string path) {
  if (const int result = calls.init(); result != 0) {
    return unavailable(kLibrary, " does not start (error ", result, ")").with_id("ARG-GPU-009");
  }
  return std::shared_ptr<Nvml>(new Nvml(calls, std::move(path)));
}

Nvml::~Nvml() { calls_.shutdown(); }

std::string Nvml::driver_version() const {
  char text[96] = "";
  return calls_.driver_version(text, sizeof(text) - 1) == 0 ? text : "";
}

LibraryFacts Nvml::library() const {
  LibraryFacts facts{.name = "NVML", .path = path_};
  char text[96] = "";
  if (calls_.library_version != nullptr && calls_.library_version(text, sizeof(text) - 1) == 0) facts.version = text;
  if (facts.version.empty()) facts.version = driver_version();  // they come together
  return facts;
}

void Nvml::look_at(GpuFacts& facts) const {
  NvmlCalls::Handle handle = nullptr;
  if (calls_.handle_by_pci(facts.pci.c_str(), &handle) != 0) return;
  unsigned index = 0;
  if (calls_.index != nullptr && calls_.index(handle, &index) == 0) facts.system_number = static_cast<int>(index);
  NvmlCalls::Memory memory;
  if (calls_.memory(handle, &memory) == 0) facts.memory_used_bytes = static_cast<std::int64_t>(memory.used);
  NvmlCalls::Utilisation rates;
  if (calls_.utilisation(handle, &rates) == 0) facts.utilisation_percent = static_cast<int>(rates.gpu);
  std::vector<NvmlCalls::Process> processes(kProcesses);
  auto count = static_cast<unsigned>(processes.size());
  int told = calls_.processes(handle, &count, processes.data());
  if (told == NvmlCalls::kInsufficientSize) {  // `count` is how many there are; some may come meanwhile
    processes.resize(count + kProcesses);
    count = static_cast<unsigned>(processes.size());
    told = calls_.processes(handle, &count, processes.data());
  }
  if (told == 0) {
    for (std::size_t i = 0; i < count && i < processes.size(); ++i) {
      // Some users may not see the memory in use: all bits are set then.
      const bool known = processes[i].used_bytes != ~0ULL;
      facts.users.push_back(
          str_cat("pid ", processes[i].pid, known ? ", " + format_bytes(processes[i].used_bytes) : ""));
    }
  }
  // GPUs without error correction answer with an error.
  if (calls_.ecc_errors != nullptr) {
    unsigned long long count = 0;
    if (calls_.ecc_errors(handle, 0, 0, &count) == 0) facts.ecc_corrected = static_cast<std::int64_t>(count);
    if (calls_.ecc_errors(handle, 1, 0, &count) == 0) facts.ecc_uncorrected = static_cast<std::int64_t>(count);
  }
  unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
  if (calls_.remapped_rows != nullptr &&
      calls_.remapped_rows(handle, &corrected, &uncorrected, &pending, &failed) == 0) {
    facts.rows_pending = pending;
  }
  int links = 0;
  for (unsigned link = 0; link < NvmlCalls::kMostLinks; ++link) {
    unsigned active = 0;
    if (calls_.link_state(handle, link, &active) == 0 && active != 0) ++links;
  }
  if (links > 0) facts.links.push_back(str_cat("NVLink x", links));
}

}  // namespace argosy::cuda
