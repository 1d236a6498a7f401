// The TensorWire of a session. A resource handle is sent as (device, container, name).
#pragma once

#include <cstdint>
#include <memory>

#include "argosy/rpc/wire/tensor_wire.h"
#include "argosy/runtime/device_set/device_set.h"
#include "argosy/tf/server/feeds/lent_feeds.h"

namespace argosy::tf {

// Returns the context for reading and writing a session's tensors. A fed tensor has at most `limit_bytes`; it is
// allocated by device 0, or lent by its client (`lent`; null: never). `device_set` outlives the result.
TensorWire session_wire(DeviceSet& device_set, std::int64_t limit_bytes, std::shared_ptr<LentFeeds> lent);

}  // namespace argosy::tf
