// Redistribution: the collective that a change of placement needs on one mesh axis, and its bytes for each device.
//
//   n: shards of the axis      B: bytes of the global value
//
//   from   to      on devices                       over turns              bytes per device
//   R      S       local slice                      this turn's slice       0
//   R      P       shard 0 keeps it, others 0      turn 0 keeps it         0
//   P      R       all-reduce                       add up                  2 (n-1)/n B
//   P      S       reduce-scatter                   add up, keep a part     (n-1)/n B
//   S      R       all-gather                       keep all turns'         (n-1)/n B
//   S(i)   S(j)    all-to-all                       through R               (n-1)/n² B
//   once   R       broadcast                                                B
//   once   S       scatter                                                  (n-1)/n B
//   P      once    reduce                                                   B
//   S      once    gather                                                   (n-1)/n B
//   R      once    nothing                                                  0
//   L      P       times the shard's part of the batch                      0
//   P      L       divided by that part                                     0
//
// L becomes P first, then R: an all-reduce. Any other change is impossible: scratch has no global value.
#pragma once

#include <string_view>

#include "argosy/sharding/mesh.h"
#include "argosy/sharding/placement.h"

namespace argosy {

enum class Redistribution : char {
  kNothing,
  kSlice,
  kKeepFirst,  // to P(max) or P(min), every device keeps the value
  kWeigh,      // times, or divided by, the shard's part of the batch
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kAllToAll,
  kBroadcast,
  kScatter,
  kReduce,
  kGather,
  kImpossible
};

Redistribution redistribution(const Placement& from, const Placement& to);
std::string_view name_of(Redistribution r);  // "all-reduce"

// Returns the bytes that each device of the axis sends; 0 over turns. `bytes`: of the global value. REQUIRES: `r` is
// not kImpossible.
double bytes_moved(Redistribution r, const MeshAxis& axis, double bytes);

struct Link {
  double latency = 0;           // seconds for a message
  double bytes_per_second = 0;  // of one device; above 0
};
// Returns the seconds that it takes if messages follow each other, as in a ring: latency and transfer. 0 over turns.
double seconds(Redistribution r, const MeshAxis& axis, double bytes, const Link& link);

}  // namespace argosy
