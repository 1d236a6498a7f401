// Resources of a session on the wire: a handle travels as (device, container, name).
#pragma once

#include <cstdint>

#include "argosy/rpc/wire/tensor_wire.h"
#include "argosy/runtime/device_set/device_set.h"

namespace argosy::tf {

// How a session reads and writes tensors. A fed tensor has at most `limit_bytes`, and lies in memory of device 0.
// `device_set` outlives the result.
TensorWire session_wire(DeviceSet& device_set, std::int64_t limit_bytes);

}  // namespace argosy::tf
