// The part of NVIDIA's driver interface that we use, with its documented names, numbers and signatures. It is declared
// here so that everything except kernels compiles without the vendor's headers. driver_api_check.cc compares it with
// cuda.h where that is installed. The driver owns its handles; nothing here owns anything.
#pragma once

#include <cstddef>
#include <cstdint>

namespace argosy::cuda {

using CuResult = int;
using CuDevice = int;
using CuPointer = std::uint64_t;  // an address of a device's memory
using CuContext = struct CuContextObject*;
using CuStream = struct CuStreamObject*;
using CuEvent = struct CuEventObject*;
using CuModule = struct CuModuleObject*;
using CuFunction = struct CuFunctionObject*;
using CuMemoryPool = struct CuMemoryPoolObject*;
using CuGraph = struct CuGraphObject*;
using CuGraphNode = struct CuGraphNodeObject*;
using CuGraphExec = struct CuGraphExecObject*;

struct CuUuid {
  unsigned char bytes[16];
};

struct CuMemoryLocation {
  int type = 1;  // a device
  int id = 0;
};

struct CuPoolProperties {
  int allocation_type = 1;  // pinned to where it is
  int handle_types = 0;
  CuMemoryLocation location;
  void* security_attributes = nullptr;
  std::size_t max_size = 0;
  unsigned short usage = 0;
  unsigned char reserved[54] = {};
};

struct CuAccess {
  CuMemoryLocation location;
  int flags = 3;  // read and write
};

struct CuUpdateInfo {
  int result = 0;
  CuGraphNode error_node = nullptr;
  CuGraphNode error_from = nullptr;
};

enum : CuResult {
  kCuSuccess = 0,
  kCuInvalidValue = 1,
  kCuOutOfMemory = 2,
  kCuNotInitialized = 3,
  kCuDeinitialized = 4,
  kCuStubLibrary = 34,
  kCuDeviceUnavailable = 46,
  kCuNoDevice = 100,
  kCuInvalidDevice = 101,
  kCuDeviceNotLicensed = 102,
  kCuInvalidImage = 200,
  kCuInvalidContext = 201,
  kCuNoBinaryForGpu = 209,
  kCuEccUncorrectable = 214,
  kCuInvalidPtx = 218,
  kCuNvlinkUncorrectable = 220,
  kCuNoPtxCompiler = 221,
  kCuUnsupportedPtxVersion = 222,
  kCuContained = 226,
  kCuOperatingSystem = 304,
  kCuInvalidHandle = 400,
  kCuNotFound = 500,
  kCuNotReady = 600,
  kCuIllegalAddress = 700,
  kCuLaunchOutOfResources = 701,
  kCuLaunchTimeout = 702,
  kCuPeerAlreadyEnabled = 704,
  kCuContextIsDestroyed = 709,
  kCuAssert = 710,
  kCuHardwareStackError = 714,
  kCuIllegalInstruction = 715,
  kCuMisalignedAddress = 716,
  kCuInvalidAddressSpace = 717,
  kCuInvalidPc = 718,
  kCuLaunchFailed = 719,
  kCuTensorMemoryLeak = 721,
  kCuNotPermitted = 800,
  kCuNotSupported = 801,
  kCuSystemNotReady = 802,
  kCuSystemDriverMismatch = 803,
  kCuCompatNotSupported = 804,
  kCuMpsConnectionFailed = 805,
  kCuMpsRpcFailure = 806,
  kCuMpsServerNotReady = 807,
  kCuMpsClientTerminated = 810,
  kCuCaptureUnsupported = 900,
  kCuCaptureInvalidated = 901,
  kCuCaptureUnjoined = 904,
  kCuCaptureIsolation = 905,
  kCuCapturedEvent = 907,
  kCuGraphUpdateFailure = 910,
  kCuExternalDevice = 911,
  kCuUnknown = 999,
};

enum : int {  // of cuDeviceGetAttribute
  kCuMaxThreadsPerBlock = 1,
  kCuMaxSharedPerBlock = 8,
  kCuWarpSize = 10,
  kCuClockKilohertz = 13,
  kCuMultiprocessors = 16,
  kCuComputeMode = 20,
  kCuMemoryClockKilohertz = 36,
  kCuMemoryBusBits = 37,
  kCuMaxThreadsPerMultiprocessor = 39,
  kCuMajor = 75,
  kCuMinor = 76,
  kCuMaxSharedPerBlockOptin = 97,
  kCuMemoryPools = 115,
};
inline constexpr int kCuComputeModeProhibited = 2;  // a value of kCuComputeMode

enum : int {
  kCuPointerMemoryType = 2,     // of cuPointerGetAttributes
  kCuPointerDeviceOrdinal = 9,  // likewise
  kCuMemoryTypeHost = 1,
  kCuMemoryTypeDevice = 2,
  kCuPoolReuseWaits = 3,        // of cuMemPoolSetAttribute: an allocation may wait for another stream's free; an int
  kCuPoolReleaseThreshold = 4,  // likewise
  kCuPoolReserved = 5,          // of cuMemPoolGetAttribute: bytes
  kCuFunctionMaxDynamicShared = 8,
  kCuCaptureRelaxed = 2,
};

enum : unsigned {
  kCuStreamNonBlocking = 1,
  kCuEventDisableTiming = 2,
  kCuHostPortable = 1,
};

// X(name, parameters): every function is CuResult name parameters. The symbol is the name; where the driver has a
// second version, that one.
#define ARGOSY_CUDA_DRIVER_CALLS(X)                                                                                   \
  X(cuInit, (unsigned flags))                                                                                         \
  X(cuDriverGetVersion, (int* version))                                                                               \
  X(cuGetErrorName, (CuResult error, const char** name))                                                              \
  X(cuGetErrorString, (CuResult error, const char** text))                                                            \
  X(cuDeviceGetCount, (int* count))                                                                                   \
  X(cuDeviceGet, (CuDevice * device, int ordinal))                                                                    \
  X(cuDeviceGetName, (char* name, int length, CuDevice device))                                                       \
  X(cuDeviceGetUuid_v2, (CuUuid * uuid, CuDevice device))                                                             \
  X(cuDeviceTotalMem_v2, (std::size_t * bytes, CuDevice device))                                                      \
  X(cuDeviceGetAttribute, (int* value, int attribute, CuDevice device))                                               \
  X(cuDeviceGetPCIBusId, (char* id, int length, CuDevice device))                                                     \
  X(cuDeviceCanAccessPeer, (int* can, CuDevice device, CuDevice peer))                                                \
  X(cuDevicePrimaryCtxRetain, (CuContext * context, CuDevice device))                                                 \
  X(cuDevicePrimaryCtxRelease_v2, (CuDevice device))                                                                  \
  X(cuCtxGetCurrent, (CuContext * context))                                                                           \
  X(cuCtxSetCurrent, (CuContext context))                                                                             \
  X(cuMemGetInfo_v2, (std::size_t * free, std::size_t * total))                                                       \
  X(cuCtxGetStreamPriorityRange, (int* least, int* greatest))                                                         \
  X(cuStreamCreate, (CuStream * stream, unsigned flags))                                                              \
  X(cuStreamCreateWithPriority, (CuStream * stream, unsigned flags, int priority))                                    \
  X(cuStreamDestroy_v2, (CuStream stream))                                                                            \
  X(cuStreamSynchronize, (CuStream stream))                                                                           \
  X(cuStreamWaitEvent, (CuStream stream, CuEvent event, unsigned flags))                                              \
  X(cuEventCreate, (CuEvent * event, unsigned flags))                                                                 \
  X(cuEventDestroy_v2, (CuEvent event))                                                                               \
  X(cuEventRecord, (CuEvent event, CuStream stream))                                                                  \
  X(cuEventQuery, (CuEvent event))                                                                                    \
  X(cuMemPoolCreate, (CuMemoryPool * pool, const CuPoolProperties* properties))                                       \
  X(cuMemPoolDestroy, (CuMemoryPool pool))                                                                            \
  X(cuMemPoolSetAttribute, (CuMemoryPool pool, int attribute, void* value))                                           \
  X(cuMemPoolGetAttribute, (CuMemoryPool pool, int attribute, void* value))                                           \
  X(cuMemPoolTrimTo, (CuMemoryPool pool, std::size_t keep_bytes))                                                     \
  X(cuMemPoolSetAccess, (CuMemoryPool pool, const CuAccess* access, std::size_t count))                               \
  X(cuMemAllocFromPoolAsync, (CuPointer * pointer, std::size_t bytes, CuMemoryPool pool, CuStream stream))            \
  X(cuMemFreeAsync, (CuPointer pointer, CuStream stream))                                                             \
  X(cuMemHostAlloc, (void** pointer, std::size_t bytes, unsigned flags))                                              \
  X(cuMemFreeHost, (void* pointer))                                                                                   \
  X(cuPointerGetAttributes, (unsigned count, int* attributes, void** values, CuPointer pointer))                      \
  X(cuMemcpyHtoDAsync_v2, (CuPointer to, const void* from, std::size_t bytes, CuStream stream))                       \
  X(cuMemcpyDtoHAsync_v2, (void* to, CuPointer from, std::size_t bytes, CuStream stream))                             \
  X(cuMemcpyDtoDAsync_v2, (CuPointer to, CuPointer from, std::size_t bytes, CuStream stream))                         \
  X(cuMemcpyPeerAsync,                                                                                                \
    (CuPointer to, CuContext to_context, CuPointer from, CuContext from_context, std::size_t bytes, CuStream stream)) \
  X(cuMemsetD8Async, (CuPointer to, unsigned char value, std::size_t count, CuStream stream))                         \
  X(cuMemsetD16Async, (CuPointer to, unsigned short value, std::size_t count, CuStream stream))                       \
  X(cuMemsetD32Async, (CuPointer to, unsigned value, std::size_t count, CuStream stream))                             \
  X(cuModuleLoadData, (CuModule * module, const void* image))                                                         \
  X(cuModuleUnload, (CuModule module))                                                                                \
  X(cuModuleGetFunction, (CuFunction * function, CuModule module, const char* name))                                  \
  X(cuFuncSetAttribute, (CuFunction function, int attribute, int value))                                              \
  X(cuLaunchKernel,                                                                                                   \
    (CuFunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,      \
     unsigned block_z, unsigned shared_bytes, CuStream stream, void** arguments, void** extra))                       \
  X(cuStreamBeginCapture_v2, (CuStream stream, int mode))                                                             \
  X(cuStreamEndCapture, (CuStream stream, CuGraph * graph))                                                           \
  X(cuGraphInstantiateWithFlags, (CuGraphExec * exec, CuGraph graph, unsigned long long flags))                       \
  X(cuGraphExecUpdate_v2, (CuGraphExec exec, CuGraph graph, CuUpdateInfo * info))                                     \
  X(cuGraphLaunch, (CuGraphExec exec, CuStream stream))                                                               \
  X(cuGraphGetNodes, (CuGraph graph, CuGraphNode * nodes, std::size_t * count))                                       \
  X(cuGraphExecDestroy, (CuGraphExec exec))                                                                           \
  X(cuGraphDestroy, (CuGraph graph))

// The driver as a table of functions, filled from libcuda.so.1 or by a fake.
struct DriverCalls {
#define ARGOSY_CUDA_MEMBER(name, parameters) CuResult(*name) parameters = nullptr;
  ARGOSY_CUDA_DRIVER_CALLS(ARGOSY_CUDA_MEMBER)
#undef ARGOSY_CUDA_MEMBER
};

}  // namespace argosy::cuda
