// Mesh: the devices of a strategy, as a grid with named axes.
//
//   data=2, model=2            model 0   model 1
//                     data 0    gpu:0     gpu:1
//                     data 1    gpu:2     gpu:3
//
// An axis over *turns* needs no devices. Its shards run one after the other on each device: gradient accumulation, and
// the logical shards of a reproducible run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/base/status.h"

namespace argosy {

struct MeshAxis {
  enum class Over : char { kDevices, kTurns };
  std::string name;  // "data", "turns"; unique in its mesh
  int size = 1;      // shards along the axis
  Over over = Over::kDevices;
  std::vector<std::int64_t> weights = {};  // relative sizes of the shards; empty: equal. Cut by shard_batch().
};

struct Mesh {
  std::vector<MeshAxis> axes;        // outermost first
  std::vector<std::string> devices;  // row-major over the axes over devices

  int size() const;                                   // shards along all axes
  int device_count() const;                           // shards along the axes over devices
  const MeshAxis* find(std::string_view name) const;  // null: there is none
  // INVALID_ARGUMENT ARG-SHARD-001: a size is below 1, names are not unique, or an axis has another number of weights
  // than shards. Also if device_count() is not the number of `devices`.
  Status check() const;
};

}  // namespace argosy
