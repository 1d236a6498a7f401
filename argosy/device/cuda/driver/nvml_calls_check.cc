// Compares our declarations of NVML with the vendor's header. Compiled into the plug-in where that header is installed.
#include <nvml.h>

#include <cstddef>
#include <type_traits>

#include "argosy/device/cuda/driver/nvml.h"

namespace argosy::cuda {

namespace {

template <typename A, typename B>
constexpr bool alike() {
  return sizeof(A) == sizeof(B) && alignof(A) == alignof(B) && std::is_pointer_v<A> == std::is_pointer_v<B>;
}

template <typename Ours, typename Theirs>
struct SameCall : std::false_type {};
template <typename... A, typename... B>
requires(sizeof...(A) == sizeof...(B)) struct SameCall<int (*)(A...), nvmlReturn_t (*)(B...)>
    : std::bool_constant<(alike<A, B>() && ...)> {
};

}  // namespace

#define ARGOSY_NVML_CHECK(member, name) \
  static_assert(SameCall<decltype(NvmlCalls::member), decltype(&(name))>::value, #name " is declared otherwise");
ARGOSY_NVML_CHECK(init, nvmlInit_v2)
ARGOSY_NVML_CHECK(shutdown, nvmlShutdown)
ARGOSY_NVML_CHECK(driver_version, nvmlSystemGetDriverVersion)
ARGOSY_NVML_CHECK(handle_by_pci, nvmlDeviceGetHandleByPciBusId_v2)
ARGOSY_NVML_CHECK(memory, nvmlDeviceGetMemoryInfo)
ARGOSY_NVML_CHECK(utilisation, nvmlDeviceGetUtilizationRates)
ARGOSY_NVML_CHECK(processes, nvmlDeviceGetComputeRunningProcesses_v3)
ARGOSY_NVML_CHECK(link_state, nvmlDeviceGetNvLinkState)
ARGOSY_NVML_CHECK(library_version, nvmlSystemGetNVMLVersion)
ARGOSY_NVML_CHECK(ecc_errors, nvmlDeviceGetTotalEccErrors)
ARGOSY_NVML_CHECK(index, nvmlDeviceGetIndex)
ARGOSY_NVML_CHECK(remapped_rows, nvmlDeviceGetRemappedRows)
#undef ARGOSY_NVML_CHECK

static_assert(sizeof(NvmlCalls::Memory) == sizeof(nvmlMemory_t) &&
              offsetof(NvmlCalls::Memory, used) == offsetof(nvmlMemory_t, used));
static_assert(sizeof(NvmlCalls::Utilisation) == sizeof(nvmlUtilization_t) &&
              offsetof(NvmlCalls::Utilisation, gpu) == offsetof(nvmlUtilization_t, gpu));
static_assert(sizeof(NvmlCalls::Process) == sizeof(nvmlProcessInfo_t) &&
              offsetof(NvmlCalls::Process, used_bytes) == offsetof(nvmlProcessInfo_t, usedGpuMemory) &&
              offsetof(NvmlCalls::Process, instance) == offsetof(nvmlProcessInfo_t, gpuInstanceId));
static_assert(NVML_SUCCESS == 0 && NVML_ERROR_INSUFFICIENT_SIZE == NvmlCalls::kInsufficientSize);
static_assert(NVML_MEMORY_ERROR_TYPE_CORRECTED == 0 && NVML_MEMORY_ERROR_TYPE_UNCORRECTED == 1 &&
              NVML_VOLATILE_ECC == 0 && NVML_NVLINK_MAX_LINKS <= NvmlCalls::kMostLinks);

}  // namespace argosy::cuda
