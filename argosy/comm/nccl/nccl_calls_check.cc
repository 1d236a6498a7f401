// Compiled wherever NCCL's header is, and nowhere else: our numbers are its.
#include <nccl.h>

#include "argosy/comm/nccl/nccl_calls.h"
#include "argosy/device/cuda/driver/calls_check.h"

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
static_assert(is(kNcclSuccess, ncclSuccess) && is(kNcclInvalidArgument, ncclInvalidArgument) &&
              is(kNcclInvalidUsage, ncclInvalidUsage) && is(kNcclRemoteError, ncclRemoteError) &&
              is(kNcclInProgress, ncclInProgress));
static_assert(is(kNcclSum, ncclSum) && is(kNcclProd, ncclProd) && is(kNcclMax, ncclMax) && is(kNcclMin, ncclMin) &&
              is(kNcclAvg, ncclAvg));
static_assert(is(kNcclInt8, ncclInt8) && is(kNcclUint8, ncclUint8) && is(kNcclInt32, ncclInt32) &&
              is(kNcclUint32, ncclUint32) && is(kNcclInt64, ncclInt64) && is(kNcclUint64, ncclUint64) &&
              is(kNcclFloat16, ncclFloat16) && is(kNcclFloat32, ncclFloat32) && is(kNcclFloat64, ncclFloat64) &&
              is(kNcclBfloat16, ncclBfloat16));
// Newer libraries read no more of it than it says it has.
static_assert(offsetof(NcclConfig, size) == offsetof(ncclConfig_t, size) && sizeof(NcclConfig) <= sizeof(ncclConfig_t));

#define ARGOSY_ALIKE(member, function) \
  static_assert(kAlike<std::remove_reference_t<decltype(NcclCalls().member)>, decltype(function)>)
ARGOSY_ALIKE(version, ncclGetVersion);
ARGOSY_ALIKE(error_text, ncclGetErrorString);
ARGOSY_ALIKE(last_error, ncclGetLastError);
ARGOSY_ALIKE(unique_id, ncclGetUniqueId);
ARGOSY_ALIKE(init, ncclCommInitRankConfig);
ARGOSY_ALIKE(async_error, ncclCommGetAsyncError);
ARGOSY_ALIKE(abort, ncclCommAbort);
ARGOSY_ALIKE(group_start, ncclGroupStart);
ARGOSY_ALIKE(group_end, ncclGroupEnd);
ARGOSY_ALIKE(all_reduce, ncclAllReduce);
ARGOSY_ALIKE(reduce_scatter, ncclReduceScatter);
ARGOSY_ALIKE(all_gather, ncclAllGather);
ARGOSY_ALIKE(broadcast, ncclBroadcast);
ARGOSY_ALIKE(send, ncclSend);
ARGOSY_ALIKE(recv, ncclRecv);

}  // namespace argosy::cuda
