#include "argosy/sharding/reshard/redistribution.h"

#include <array>

namespace argosy {

namespace {

using Kind = Placement::Kind;

struct Change {
  Kind from, to;
  Redistribution how;
};
// Changes between different kinds of placements. redistribution() handles equal placements, and S to S.
constexpr std::array<Change, 13> kChanges = {{
    {Kind::kReplicate, Kind::kShard, Redistribution::kSlice},
    {Kind::kReplicate, Kind::kPartial, Redistribution::kKeepFirst},
    {Kind::kReplicate, Kind::kOnce, Redistribution::kNothing},
    {Kind::kPartial, Kind::kReplicate, Redistribution::kAllReduce},
    {Kind::kPartial, Kind::kShard, Redistribution::kReduceScatter},
    {Kind::kPartial, Kind::kOnce, Redistribution::kReduce},
    {Kind::kShard, Kind::kReplicate, Redistribution::kAllGather},
    {Kind::kShard, Kind::kOnce, Redistribution::kGather},
    {Kind::kOnce, Kind::kReplicate, Redistribution::kBroadcast},
    {Kind::kOnce, Kind::kShard, Redistribution::kScatter},
    {Kind::kLocal, Kind::kPartial, Redistribution::kWeigh},
    {Kind::kPartial, Kind::kLocal, Redistribution::kWeigh},
    {Kind::kLocal, Kind::kReplicate, Redistribution::kAllReduce},
}};

enum class Moves : char { kNone, kPart, kTwoParts, kPartOfPart, kAll };
struct Traffic {
  Redistribution how;
  std::string_view name;
  Moves moves;
  int rounds;  // of messages, in units of n - 1
};
constexpr std::array<Traffic, 13> kTraffic = {{
    {Redistribution::kNothing, "nothing", Moves::kNone, 0},
    {Redistribution::kSlice, "slice", Moves::kNone, 0},
    {Redistribution::kKeepFirst, "keep-first", Moves::kNone, 0},
    {Redistribution::kWeigh, "weigh", Moves::kNone, 0},
    {Redistribution::kAllReduce, "all-reduce", Moves::kTwoParts, 2},
    {Redistribution::kReduceScatter, "reduce-scatter", Moves::kPart, 1},
    {Redistribution::kAllGather, "all-gather", Moves::kPart, 1},
    {Redistribution::kAllToAll, "all-to-all", Moves::kPartOfPart, 1},
    {Redistribution::kBroadcast, "broadcast", Moves::kAll, 1},
    {Redistribution::kScatter, "scatter", Moves::kPart, 1},
    {Redistribution::kReduce, "reduce", Moves::kAll, 1},
    {Redistribution::kGather, "gather", Moves::kPart, 1},
    {Redistribution::kImpossible, "impossible", Moves::kNone, 0},
}};

const Traffic& traffic(Redistribution r) { return kTraffic[static_cast<std::size_t>(r)]; }

}  // namespace

Redistribution redistribution(const Placement& from, const Placement& to) {
  if (from == to) return Redistribution::kNothing;
  if (from.is_shard() && to.is_shard()) return Redistribution::kAllToAll;
  for (const Change& c : kChanges) {
    if (c.from == from.kind && c.to == to.kind) return c.how;
  }
  return Redistribution::kImpossible;
}

std::string_view name_of(Redistribution r) { return traffic(r).name; }

double bytes_moved(Redistribution r, const MeshAxis& axis, double bytes) {
  const double n = axis.size, part = (n - 1) / n;
  if (axis.over == MeshAxis::Over::kTurns || axis.size == 1) return 0;
  switch (traffic(r).moves) {
    case Moves::kNone: return 0;
    case Moves::kPart: return part * bytes;
    case Moves::kTwoParts: return 2 * part * bytes;
    case Moves::kPartOfPart: return part / n * bytes;
    case Moves::kAll: return bytes;
  }
  return 0;
}

double seconds(Redistribution r, const MeshAxis& axis, double bytes, const Link& link) {
  if (axis.over == MeshAxis::Over::kTurns) return 0;
  return traffic(r).rounds * (axis.size - 1) * link.latency + bytes_moved(r, axis, bytes) / link.bytes_per_second;
}

}  // namespace argosy
