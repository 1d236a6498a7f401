// Compares driver_api.h with NVIDIA's cuda.h. Compiled where that header is installed.
#include <cuda.h>

#include <type_traits>

#include "argosy/device/cuda/driver/driver_api.h"

namespace argosy::cuda {

namespace {

template <typename A, typename B>
constexpr bool alike() {
  return sizeof(A) == sizeof(B) && alignof(A) == alignof(B) && std::is_pointer_v<A> == std::is_pointer_v<B>;
}

template <typename Ours, typename Theirs>
struct SameCall : std::false_type {};
template <typename... A, typename R, typename... B>
requires(sizeof...(A) == sizeof...(B)) struct SameCall<CuResult (*)(A...), R (*)(B...)>
    : std::bool_constant<(alike<A, B>() && ...)> {
};

constexpr bool same(long ours, long theirs) { return ours == theirs; }

// Errors by their number: older headers have no name for the newest.
#if CUDA_VERSION >= 13000
static_assert(same(kCuContained, CUDA_ERROR_CONTAINED) && same(kCuTensorMemoryLeak, CUDA_ERROR_TENSOR_MEMORY_LEAK));
#endif
static_assert(same(kCuDeviceNotLicensed, CUDA_ERROR_DEVICE_NOT_LICENSED) &&
              same(kCuInvalidPtx, CUDA_ERROR_INVALID_PTX) &&
              same(kCuNvlinkUncorrectable, CUDA_ERROR_NVLINK_UNCORRECTABLE) &&
              same(kCuNoPtxCompiler, CUDA_ERROR_JIT_COMPILER_NOT_FOUND) &&
              same(kCuOperatingSystem, CUDA_ERROR_OPERATING_SYSTEM) &&
              same(kCuIllegalInstruction, CUDA_ERROR_ILLEGAL_INSTRUCTION) &&
              same(kCuMisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS) &&
              same(kCuInvalidAddressSpace, CUDA_ERROR_INVALID_ADDRESS_SPACE) &&
              same(kCuCompatNotSupported, CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE) &&
              same(kCuMpsConnectionFailed, CUDA_ERROR_MPS_CONNECTION_FAILED) &&
              same(kCuMpsRpcFailure, CUDA_ERROR_MPS_RPC_FAILURE) &&
              same(kCuMpsServerNotReady, CUDA_ERROR_MPS_SERVER_NOT_READY) &&
              same(kCuMpsClientTerminated, CUDA_ERROR_MPS_CLIENT_TERMINATED) &&
              same(kCuExternalDevice, CUDA_ERROR_EXTERNAL_DEVICE) && same(kCuInvalidValue, CUDA_ERROR_INVALID_VALUE) &&
              same(kCuNotInitialized, CUDA_ERROR_NOT_INITIALIZED) && same(kCuDeinitialized, CUDA_ERROR_DEINITIALIZED) &&
              same(kCuInvalidDevice, CUDA_ERROR_INVALID_DEVICE));

#define ARGOSY_CUDA_CHECK(name, parameters) \
  static_assert(SameCall<decltype(DriverCalls::name), decltype(&::name)>::value, #name " is declared otherwise");
ARGOSY_CUDA_DRIVER_CALLS(ARGOSY_CUDA_CHECK)
#undef ARGOSY_CUDA_CHECK

static_assert(sizeof(CuUuid) == sizeof(CUuuid) && sizeof(CuPoolProperties) == sizeof(CUmemPoolProps) &&
              sizeof(CuAccess) == sizeof(CUmemAccessDesc) &&
              sizeof(CuUpdateInfo) == sizeof(CUgraphExecUpdateResultInfo));
static_assert(offsetof(CuPoolProperties, handle_types) == offsetof(CUmemPoolProps, handleTypes) &&
              offsetof(CuPoolProperties, location) == offsetof(CUmemPoolProps, location) &&
              offsetof(CuPoolProperties, security_attributes) == offsetof(CUmemPoolProps, win32SecurityAttributes) &&
              offsetof(CuPoolProperties, max_size) == offsetof(CUmemPoolProps, maxSize) &&
              offsetof(CuMemoryLocation, id) == offsetof(CUmemLocation, id) &&
              offsetof(CuAccess, flags) == offsetof(CUmemAccessDesc, flags) &&
              offsetof(CuUpdateInfo, error_from) == offsetof(CUgraphExecUpdateResultInfo, errorFromNode));

static_assert(same(kCuOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY) && same(kCuStubLibrary, CUDA_ERROR_STUB_LIBRARY) &&
              same(kCuDeviceUnavailable, CUDA_ERROR_DEVICE_UNAVAILABLE) && same(kCuNoDevice, CUDA_ERROR_NO_DEVICE) &&
              same(kCuInvalidImage, CUDA_ERROR_INVALID_IMAGE) && same(kCuInvalidContext, CUDA_ERROR_INVALID_CONTEXT) &&
              same(kCuNoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU) &&
              same(kCuEccUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE) &&
              same(kCuUnsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION) &&
              same(kCuInvalidHandle, CUDA_ERROR_INVALID_HANDLE) && same(kCuNotFound, CUDA_ERROR_NOT_FOUND) &&
              same(kCuNotReady, CUDA_ERROR_NOT_READY));
static_assert(same(kCuIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS) &&
              same(kCuLaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT) &&
              same(kCuLaunchOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES) &&
              same(kCuPeerAlreadyEnabled, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) &&
              same(kCuContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED) && same(kCuAssert, CUDA_ERROR_ASSERT) &&
              same(kCuHardwareStackError, CUDA_ERROR_HARDWARE_STACK_ERROR) &&
              same(kCuInvalidPc, CUDA_ERROR_INVALID_PC) && same(kCuLaunchFailed, CUDA_ERROR_LAUNCH_FAILED) &&
              same(kCuNotPermitted, CUDA_ERROR_NOT_PERMITTED) && same(kCuNotSupported, CUDA_ERROR_NOT_SUPPORTED) &&
              same(kCuSystemNotReady, CUDA_ERROR_SYSTEM_NOT_READY) &&
              same(kCuSystemDriverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH) &&
              same(kCuCaptureUnsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) &&
              same(kCuCaptureInvalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) &&
              same(kCuCaptureUnjoined, CUDA_ERROR_STREAM_CAPTURE_UNJOINED) &&
              same(kCuCaptureIsolation, CUDA_ERROR_STREAM_CAPTURE_ISOLATION) &&
              same(kCuCapturedEvent, CUDA_ERROR_CAPTURED_EVENT) &&
              same(kCuGraphUpdateFailure, CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE) &&
              same(kCuUnknown, CUDA_ERROR_UNKNOWN));
static_assert(same(kCuMaxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK) &&
              same(kCuMaxSharedPerBlock, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK) &&
              same(kCuWarpSize, CU_DEVICE_ATTRIBUTE_WARP_SIZE) &&
              same(kCuClockKilohertz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE) &&
              same(kCuMultiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) &&
              same(kCuComputeMode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE) &&
              same(kCuMemoryClockKilohertz, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) &&
              same(kCuMemoryBusBits, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) &&
              same(kCuMaxThreadsPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) &&
              same(kCuMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) &&
              same(kCuMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) &&
              same(kCuMaxSharedPerBlockOptin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) &&
              same(kCuMemoryPools, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED));
static_assert(same(kCuPointerMemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE) &&
              same(kCuPointerDeviceOrdinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) &&
              same(kCuMemoryTypeHost, CU_MEMORYTYPE_HOST) && same(kCuMemoryTypeDevice, CU_MEMORYTYPE_DEVICE) &&
              same(kCuPoolReuseWaits, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES) &&
              same(kCuPoolReleaseThreshold, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) &&
              same(kCuPoolReserved, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) &&
              same(kCuFunctionMaxDynamicShared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) &&
              same(kCuCaptureRelaxed, CU_STREAM_CAPTURE_MODE_RELAXED) &&
              same(kCuStreamNonBlocking, CU_STREAM_NON_BLOCKING) &&
              same(kCuEventDisableTiming, CU_EVENT_DISABLE_TIMING) && same(kCuHostPortable, CU_MEMHOSTALLOC_PORTABLE));
static_assert(same(CuMemoryLocation{}.type, CU_MEM_LOCATION_TYPE_DEVICE) &&
              same(CuPoolProperties{}.allocation_type, CU_MEM_ALLOCATION_TYPE_PINNED) &&
              same(CuAccess{}.flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));

}  // namespace

}  // namespace argosy::cuda
