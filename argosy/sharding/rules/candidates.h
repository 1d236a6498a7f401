// The shardings that a node may have on one mesh axis, from its rule.
//
//   MatMul, "i k, k j -> i j; sum k; linear each"
//     replicated        R, R -> R
//     along i           S(0), R -> S(0)
//     along j           R, S(1) -> S(1)
//     along k           S(1), S(0) -> P(sum)
//     sum of input 0    P(sum), R -> P(sum)
//     sum of input 1    R, P(sum) -> P(sum)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "argosy/op/definition/sharding_rule.h"
#include "argosy/sharding/placement.h"

namespace argosy {

// Element `element` of integer input `input` is the size of a sharded dimension. Each device uses the size of its
// shard.
struct LocalSize {
  int input = 0, element = 0;
  friend bool operator==(const LocalSize&, const LocalSize&) = default;
};

struct RuleCandidate {
  std::string what;  // for the plan: "along i"
  int factor = -1;   // the sharded factor; -1: none
  // By input and output. An input whose rule is kShapeOnly may have any placement: R stands for it. If a factor is
  // sharded, scratch is kVarying: an output that each device keeps, or an input that came from such an output.
  std::vector<Placement> inputs, outputs;
  // For a linear group: its inputs. Each is P(sum) here. Some may be R instead; such a value counts once, on one
  // device.
  std::vector<int> group = {};
  std::vector<LocalSize> sizes = {};
  // FactorRole::kMean: outputs become P(sum) by weighting. A shard's own value is multiplied by its part of the
  // factor's size.
  bool mean = false;
};

// Returns all candidates: replicated first, then by factor, by linear group, by monotone input. A rule kOnce has one:
// replicated inputs, outputs on one device. Left out are factors for which can_shard() is false.
std::vector<RuleCandidate> candidates(const ShardingRule& rule);

// The dimension of an operand that holds a factor, with Placement::rounds and unit of shards along it. Dimension -1: it
// does not have the factor. Rounds or unit -1: not known.
struct FactorPlace {
  int dim = -1;
  std::int64_t rounds = 1, unit = 1;
};
FactorPlace find_factor(const ShardingRule& rule, const OperandRule& operand, int factor);

// True if nodes may be sharded along the factor. False:
// - the factor's role forbids it;
// - an operand holds the factor twice, or in one dimension with factors of size 0 or of unknown size.
bool can_shard(const ShardingRule& rule, int factor);

}  // namespace argosy
