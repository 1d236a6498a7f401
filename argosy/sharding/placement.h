// Placement: the part of a value that each device of one mesh axis holds. A Layout has one placement per axis.
//
//   global value [4, 3] on an axis of 2
//     R        every device has all of it
//     S(0)     rows 0, 1 | rows 2, 3             S(0)/2: rows 0, 2 | rows 1, 3 (two rounds: the shards repeat)
//                                                S(0)*2: rows 0, 1 | rows 2, 3, also where the axis is cut unevenly
//     P(sum)   two values of [4, 3] that add up to it
//     once     one device has it
//     L        each shard has the mean of its own rows. The global value is their mean, weighted by the shards' sizes
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace argosy {

enum class Combine : char { kSum, kMax, kMin };

struct Placement {
  enum class Kind : char {
    kReplicate,  // the global value, equal on every device
    kShard,      // a slice along `dim`
    kPartial,    // the global value is `combine` over the devices
    kVarying,    // scratch: each shard has its own, and only the gradient of the same shard reads it
    kLocal,      // the shard's own statistics. The result differs from one device's, as the caller asked
    kOnce,       // one device has the global value
  };
  Kind kind = Kind::kReplicate;
  std::int8_t dim = -1;             // kShard
  Combine combine = Combine::kSum;  // kPartial
  // kShard: how often the shards repeat along `dim`. It is 3 for [3 * batch, d], where 3 is an axis outside of the
  // batch.
  std::int64_t rounds = 1;
  // kShard: how many rows stay together as an item. It is 5 for [batch * 5, d], where 5 is an axis inside of the batch.
  // So each round of `dim` has size / (rounds * unit) items, and shards are cut between items.
  std::int64_t unit = 1;

  static Placement replicate() { return {}; }
  static Placement shard(int dim, std::int64_t rounds = 1, std::int64_t unit = 1) {
    return {.kind = Kind::kShard, .dim = static_cast<std::int8_t>(dim), .rounds = rounds, .unit = unit};
  }
  static Placement partial(Combine combine = Combine::kSum) { return {.kind = Kind::kPartial, .combine = combine}; }
  static Placement varying() { return {.kind = Kind::kVarying}; }
  static Placement local() { return {.kind = Kind::kLocal}; }
  static Placement once() { return {.kind = Kind::kOnce}; }

  bool is_replicate() const { return kind == Kind::kReplicate; }
  bool is_shard() const { return kind == Kind::kShard; }
  bool is_partial() const { return kind == Kind::kPartial; }
  bool is_local() const { return kind == Kind::kLocal; }

  friend bool operator==(const Placement&, const Placement&) = default;
};

// By mesh axis, outermost first.
using Layout = std::vector<Placement>;

std::string to_string(const Placement& p);    // "R", "S(0)", "S(0)/3", "S(0)*5", "P(sum)", "V", "L", "once"
std::string to_string(const Layout& layout);  // "S(0) R"

}  // namespace argosy
