// The part of NCCL's API that we use: pointers to its functions, and our own names for its constants. So the build
// needs no vendor header. Where that header is installed, nccl_calls_check.cc compares the constants with it.
#pragma once

#include <cstddef>

#include "argosy/device/cuda/driver/driver_api.h"

namespace argosy::cuda {

using NcclComm = struct NcclCommObject*;

struct NcclId {
  char bytes[128];
};

// ncclConfig_t as of NCCL 2.14. Fields that later versions added keep their defaults.
struct NcclConfig {
  std::size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef;
  unsigned version = 21400;
  int blocking = 0;
};

enum : int {  // results
  kNcclSuccess = 0,
  kNcclInvalidArgument = 4,
  kNcclInvalidUsage = 5,
  kNcclRemoteError = 6,
  kNcclInProgress = 7,
};
enum : int { kNcclSum = 0, kNcclProd = 1, kNcclMax = 2, kNcclMin = 3, kNcclAvg = 4 };
enum : int {
  kNcclInt8 = 0,
  kNcclUint8 = 1,
  kNcclInt32 = 2,
  kNcclUint32 = 3,
  kNcclInt64 = 4,
  kNcclUint64 = 5,
  kNcclFloat16 = 6,
  kNcclFloat32 = 7,
  kNcclFloat64 = 8,
  kNcclBfloat16 = 9,
};

struct NcclCalls {
  int (*version)(int* version) = nullptr;  // 22809
  const char* (*error_text)(int result) = nullptr;
  const char* (*last_error)(NcclComm) = nullptr;  // may be null
  int (*unique_id)(NcclId*) = nullptr;
  int (*init)(NcclComm*, int ranks, NcclId id, int rank, NcclConfig*) = nullptr;
  int (*async_error)(NcclComm, int* result) = nullptr;
  int (*abort)(NcclComm) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  int (*all_reduce)(const void* in, void* out, std::size_t count, int type, int op, NcclComm, CuStream) = nullptr;
  int (*reduce_scatter)(const void* in, void* out, std::size_t each, int type, int op, NcclComm, CuStream) = nullptr;
  int (*all_gather)(const void* in, void* out, std::size_t each, int type, NcclComm, CuStream) = nullptr;
  int (*broadcast)(const void* in, void* out, std::size_t count, int type, int root, NcclComm, CuStream) = nullptr;
  int (*send)(const void* in, std::size_t count, int type, int to, NcclComm, CuStream) = nullptr;
  int (*recv)(void* out, std::size_t count, int type, int from, NcclComm, CuStream) = nullptr;
};

}  // namespace argosy::cuda
