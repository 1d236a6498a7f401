#include "argosy/comm/shared_memory/host_places.h"

#include <algorithm>

#include "argosy/base/threads/parallel.h"

namespace argosy {

namespace {

// Below it, waking the other devices' threads takes longer than the sum.
constexpr std::size_t kInlineBytes = 64 << 10;
// Likewise where the devices' own threads fill every core: a communication stream would take turns with one of them,
// and a turn is milliseconds long.
constexpr std::size_t kInlineBytesNoCoreToSpare = 2 << 20;

std::size_t bytes_of(std::span<const Tensor> tensors) {
  std::size_t bytes = 0;
  for (const Tensor& t : tensors) bytes += t.bytes();
  return bytes;
}

}  // namespace

HostPlaces HostPlaces::of(std::span<const CollectiveCall> calls) {
  HostPlaces places;
  places.own_devices = true;
  for (std::size_t r = 0; r < calls.size(); ++r) {
    const Device* const device = calls[r].device;
    places.own_devices = places.own_devices && device != nullptr;
    for (std::size_t k = 0; k < r; ++k) places.own_devices = places.own_devices && device != calls[k].device;
    if (device == nullptr) continue;
    const DeviceSpec& spec = device->spec();
    places.cores += spec.cores;
    if (spec.link_bytes_per_second <= 0) continue;
    places.link_bytes_per_second = places.link_bytes_per_second == 0
                                       ? spec.link_bytes_per_second
                                       : std::min(places.link_bytes_per_second, spec.link_bytes_per_second);
  }
  std::size_t values = bytes_of(calls[0].tensors);
  for (const Shard& shard : calls[0].shards) values += bytes_of(shard.tensors);
  places.bytes = std::max(values, bytes_of(calls[0].out));
  return places;
}

bool HostPlaces::worth_streams() const {
  if (!own_devices) return false;
  return link_bytes_per_second > 0 || bytes > (cores >= available_cores() ? kInlineBytesNoCoreToSpare : kInlineBytes);
}

double link_crossings(Collective kind, int ranks) {
  const double n = ranks;
  switch (kind) {
    case Collective::kAllReduce:
    case Collective::kAllReduceShards: return 2 * (n - 1) / n;
    case Collective::kReduceScatter:
    case Collective::kReduceScatterShards:
    case Collective::kAllGather: return (n - 1) / n;
    case Collective::kBroadcast: return 1;
    case Collective::kAllToAll:
    case Collective::kAllToAllParts: return (n - 1) / n / n;  // its bytes are those of all ranks
    case Collective::kBarrier:
    case Collective::kSend:
    case Collective::kRecv: return 0;
  }
  return 0;
}

}  // namespace argosy
