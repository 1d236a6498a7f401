#include "argosy/device/cuda/cuda_backend.h"

#include <algorithm>
#include <cstdlib>

#include "argosy/device/cuda/link_trial.h"

namespace argosy::cuda {

namespace {

// In nvidia-smi's format. An instance of a GPU (MIG) has a UUID of its own; its name contains " MIG ".
std::string uuid_text(const CuUuid& uuid, std::string_view gpu) {
  std::string text = gpu.find(" MIG ") != std::string_view::npos ? "MIG-" : "GPU-";
  constexpr char kDigits[] = "0123456789abcdef";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += kDigits[uuid.bytes[i] >> 4];
    text += kDigits[uuid.bytes[i] & 15];
  }
  return text;
}

}  // namespace

CudaBackend::CudaBackend(std::shared_ptr<const Driver> driver, Options options)
    : driver_(std::move(driver)), options_(std::move(options)) {}

std::string CudaBackend::driver() const {
  const std::string version = options_.nvml != nullptr ? options_.nvml->driver_version() : std::string();
  return version.empty() ? str_cat("CUDA ", driver_->version_text())
                         : str_cat(version, " (CUDA ", driver_->version_text(), ")");
}

Result<CudaBackend::Gpu> CudaBackend::query_gpu(int ordinal) const {
  const DriverCalls& cu = *driver_->operator->();
  const auto check = [&](CuResult result, const char* call) { return driver_->check(result, call); };
  Gpu gpu;
  ARGOSY_RETURN_IF_ERROR(check(cu.cuDeviceGet(&gpu.handle, ordinal), "cuDeviceGet"));
  GpuFacts& facts = gpu.facts;
  char text[256] = "";
  ARGOSY_RETURN_IF_ERROR(check(cu.cuDeviceGetName(text, sizeof(text) - 1, gpu.handle), "cuDeviceGetName"));
  facts.name = text;
  CuUuid uuid;
  ARGOSY_RETURN_IF_ERROR(check(cu.cuDeviceGetUuid_v2(&uuid, gpu.handle), "cuDeviceGetUuid"));
  facts.uuid = uuid_text(uuid, facts.name);
  char pci[32] = "";
  ARGOSY_RETURN_IF_ERROR(check(cu.cuDeviceGetPCIBusId(pci, sizeof(pci) - 1, gpu.handle), "cuDeviceGetPCIBusId"));
  facts.pci = pci;
  std::size_t bytes = 0;
  ARGOSY_RETURN_IF_ERROR(check(cu.cuDeviceTotalMem_v2(&bytes, gpu.handle), "cuDeviceTotalMem"));
  facts.memory_bytes = bytes;
  int compute_mode = 0;
  for (const auto& [value, attribute] : {std::pair{&facts.major, kCuMajor},
                                         {&facts.minor, kCuMinor},
                                         {&facts.multiprocessors, kCuMultiprocessors},
                                         {&compute_mode, kCuComputeMode}}) {
    ARGOSY_RETURN_IF_ERROR(check(cu.cuDeviceGetAttribute(value, attribute, gpu.handle), "cuDeviceGetAttribute"));
  }
  if (std::pair{facts.major, facts.minor} < std::pair{options_.oldest_major, options_.oldest_minor}) {
    facts.unusable =
        str_cat(facts.name, " has compute capability ", facts.major, ".", facts.minor, ", this build starts at ",
                options_.oldest_major, ".", options_.oldest_minor, "; GPUs before 7.5 need a build with CUDA 12");
  } else if (compute_mode == kCuComputeModeProhibited) {
    facts.unusable = str_cat(facts.name, " is in compute mode \"prohibited\": nvidia-smi -i ", pci, " -c DEFAULT");
  }
  return gpu;
}

Result<std::vector<CudaBackend::Gpu>> CudaBackend::enumerate_gpus() const {
  int count = 0;
  ARGOSY_RETURN_IF_ERROR(driver_->check((*driver_)->cuDeviceGetCount(&count), "cuDeviceGetCount"));
  std::vector<Gpu> gpus;
  for (int i = 0; i < count; ++i) {
    ARGOSY_ASSIGN_OR_RETURN(Gpu gpu, query_gpu(i));
    gpus.push_back(std::move(gpu));
  }
  // Instances of one GPU (MIG) share an address; they stay in the driver's order.
  std::stable_sort(gpus.begin(), gpus.end(), [](const Gpu& a, const Gpu& b) { return a.facts.pci < b.facts.pci; });
  for (std::size_t i = 0; i < gpus.size(); ++i) gpus[i].facts.number = static_cast<int>(i);
  return gpus;
}

Result<std::vector<GpuFacts>> CudaBackend::gpus() {
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<Gpu> gpus, enumerate_gpus());
  std::vector<GpuFacts> facts;
  for (const Gpu& gpu : gpus) {
    facts.push_back(gpu.facts);
    if (options_.nvml != nullptr) options_.nvml->look_at(facts.back());
    for (const Gpu& other : gpus) {
      int can = 0;
      if (&other == &gpu || (*driver_)->cuDeviceCanAccessPeer(&can, gpu.handle, other.handle) != kCuSuccess) continue;
      facts.back().links.push_back(str_cat("gpu:", other.facts.number, can != 0 ? " direct" : " by the host"));
    }
  }
  return facts;
}

std::vector<LibraryFacts> CudaBackend::libraries() {
  std::vector<LibraryFacts> all = options_.libraries != nullptr ? options_.libraries() : std::vector<LibraryFacts>();
  if (options_.nvml != nullptr) {
    all.push_back(options_.nvml->library());
  } else if (!options_.nvml_problem.empty()) {
    all.push_back({.name = "NVML", .problem = options_.nvml_problem});
  }
  return all;
}

GpuLinks CudaBackend::try_links() {
  GpuLinks all;
  const auto gpus = enumerate_gpus();
  if (!gpus.ok()) return all;  // gpus(), which the report asks first, says why
  std::vector<TrialGpu> usable;
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<CudaDevice*> ranks;
  for (const Gpu& gpu : *gpus) {
    if (!gpu.facts.unusable.empty()) continue;
    usable.push_back({gpu.handle, gpu.facts.number});
    all.group.push_back(gpu.facts.number);
    DeviceSpec spec;
    spec.name = {"localhost", 0, 0, "GPU", gpu.facts.number};
    spec.kind = DeviceKind::kCuda;
    spec.physical_gpu = gpu.facts.number;
    auto device = make(std::move(spec), {}, {}, nullptr);
    if (!device.ok()) return all;  // as making a session on it will say
    devices.push_back(*std::move(device));
    ranks.push_back(static_cast<CudaDevice*>(devices.back().get()));
  }
  all.links = cuda::try_links(driver_, links_, std::move(usable));
  if (options_.collectives != nullptr && !ranks.empty()) {
    all.sums = options_.collectives(ranks, false);
    all.ordered_sums = options_.collectives(ranks, true);
  }
  return all;
}

Result<std::unique_ptr<Device>> CudaBackend::make(DeviceSpec spec, const DeviceRequest& request,
                                                  const DeviceFaults& faults,
                                                  std::shared_ptr<ShutdownSignal> shutdown) {
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<Gpu> gpus, enumerate_gpus());
  if (spec.physical_gpu < 0 || spec.physical_gpu >= static_cast<int>(gpus.size())) {
    return not_found("there is no GPU ", spec.physical_gpu, "; there are ", gpus.size()).with_id("ARG-DEV-005");
  }
  const Gpu& gpu = gpus[static_cast<std::size_t>(spec.physical_gpu)];
  if (!gpu.facts.unusable.empty()) {
    return failed_precondition("GPU ", spec.physical_gpu, " cannot be used: ", gpu.facts.unusable)
        .with_id("ARG-GPU-006");
  }
  return std::unique_ptr<Device>(std::make_unique<CudaDevice>(
      driver_,
      CudaDevice::Options{.spec = std::move(spec),
                          .gpu = gpu.handle,
                          .facts = gpu.facts,
                          .math = {.tf32 = request.tf32, .deterministic = request.deterministic},
                          .modules = options_.modules,
                          .kernels = options_.kernels,
                          .compiler = options_.compiler,
                          .dnn = options_.dnn,
                          .vendor_libraries = options_.vendor_libraries,
                          .observer = options_.observer,
                          .faults = faults,
                          .shutdown = std::move(shutdown),
                          .grace = options_.grace},
      links_));
}

}  // namespace argosy::cuda
