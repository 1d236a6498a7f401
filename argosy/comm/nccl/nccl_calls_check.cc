// Compiled wherever NCCL's header is, and nowhere else: our numbers are its.
#include <nccl.h>

#include "argosy/comm/nccl/nccl_calls.h"

namespace argosy::cuda {

static_assert(sizeof(NcclId) == sizeof(ncclUniqueId));
static_assert(NcclConfig{}.magic == NCCL_API_MAGIC && NcclConfig{}.version == NCCL_VERSION(2, 14, 0));
static_assert(offsetof(NcclConfig, blocking) == offsetof(ncclConfig_t, blocking));
static_assert(kNcclSuccess == ncclSuccess && kNcclInvalidUsage == ncclInvalidUsage &&
              kNcclRemoteError == ncclRemoteError && kNcclInProgress == ncclInProgress);
static_assert(kNcclSum == ncclSum && kNcclProd == ncclProd && kNcclMax == ncclMax && kNcclMin == ncclMin &&
              kNcclAvg == ncclAvg);
static_assert(kNcclInt8 == ncclInt8 && kNcclUint8 == ncclUint8 && kNcclInt32 == ncclInt32 &&
              kNcclUint32 == ncclUint32 && kNcclInt64 == ncclInt64 && kNcclUint64 == ncclUint64 &&
              kNcclFloat16 == ncclFloat16 && kNcclFloat32 == ncclFloat32 && kNcclFloat64 == ncclFloat64 &&
              kNcclBfloat16 == ncclBfloat16);

}  // namespace argosy::cuda
