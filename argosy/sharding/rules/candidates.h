// The ways in which a node may be sharded on one mesh axis, from its rule.
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

// Element `element` of integer input `input` is the size of a sharded dimension: each device takes its own shard's.
struct LocalSize {
  int input = 0, element = 0;
  friend bool operator==(const LocalSize&, const LocalSize&) = default;
};

struct RuleCandidate {
  std::string what;  // for the plan: "along i"
  int factor = -1;   // that is sharded; -1: none
  // By input and output. Of an input whose rule is kShapeOnly any placement will do: R stands there. Scratch is kVarying
  // where a factor is sharded: an output that each device keeps, an input that came from such an output.
  std::vector<Placement> inputs, outputs;
  // Linear groups: inputs that are P(sum) here may be R instead. An input that is R counts once.
  std::vector<int> group = {};
  std::vector<LocalSize> sizes = {};
  // Outputs that are P(sum) become so by weighting: a shard's own value times its part of the factor's size (FactorRole::kMean).
  bool mean = false;
};

// All of them: replicated first, then by factor, then by linear group and monotone input. Of a rule kOnce there is one:
// replicated inputs, outputs on one device. Factors that the rule forbids to shard are left out, and those that share
// a dimension with factors of unknown size, or come twice in one operand.
std::vector<RuleCandidate> candidates(const ShardingRule& rule);

// Where an operand holds a factor: the dimension, how often the shards come along it, and how many rows stay together
// (Placement::rounds, unit). Dimension -1: nowhere. Rounds or unit -1: not known.
struct FactorPlace {
  int dim = -1;
  std::int64_t rounds = 1, unit = 1;
};
FactorPlace find_factor(const ShardingRule& rule, const OperandRule& operand, int factor);

// True if nodes may be sharded along the factor.
bool can_shard(const ShardingRule& rule, int factor);

}  // namespace argosy
