// Compiled wherever NCCL's header is, and nowhere else: our numbers are its.
#include <nccl.h>

#include "argosy/comm/nccl/nccl_calls.h"

namespace argosy::cuda {

static_assert(sizeof(NcclId) == sizeof(ncclUniqueId));
// The header gives the number by its initialiser alone.
constexpr ncclConfig_t kTheirs = NCCL_CONFIG_INITIALIZER;
static_assert(NcclConfig{}.magic == kTheirs.magic && NcclConfig{}.version == NCCL_VERSION(2, 14, 0));
static_assert(offsetof(NcclConfig, blocking) == offsetof(ncclConfig_t, blocking));

template <typename Theirs>
constexpr bool is(int ours, Theirs theirs) {
  return ours == static_cast<int>(theirs);
}
static_assert(is(kNcclSuccess, ncclSuccess) && is(kNcclInvalidUsage, ncclInvalidUsage) &&
              is(kNcclRemoteError, ncclRemoteError) && is(kNcclInProgress, ncclInProgress));
static_assert(is(kNcclSum, ncclSum) && is(kNcclProd, ncclProd) && is(kNcclMax, ncclMax) && is(kNcclMin, ncclMin) &&
              is(kNcclAvg, ncclAvg));
static_assert(is(kNcclInt8, ncclInt8) && is(kNcclUint8, ncclUint8) && is(kNcclInt32, ncclInt32) &&
              is(kNcclUint32, ncclUint32) && is(kNcclInt64, ncclInt64) && is(kNcclUint64, ncclUint64) &&
              is(kNcclFloat16, ncclFloat16) && is(kNcclFloat32, ncclFloat32) && is(kNcclFloat64, ncclFloat64) &&
              is(kNcclBfloat16, ncclBfloat16));

}  // namespace argosy::cuda
