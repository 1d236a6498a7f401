// ShardingRule: how shards and partial values pass through a node. Independent of mesh and strategy.
//
// A *factor* is an index of the node, as in einsum notation. MatMul has i, j and k:
//
//   i k, k j -> i j; sum k          sharded along i: rows of the product
//                                   sharded along j: columns of it
//                                   sharded along k: partial sums of it
//
// Sharding a node along one factor on one mesh axis means, for every device of that axis:
// * an input that has the factor is sharded along the dimension that holds it; every other input is replicated;
// * an output that has the factor is sharded likewise;
// * an output without it is partial, by the factor's role. (A role that forbids sharding: see FactorRole.)
// Values of any size may be sharded. Shards may be unequal or empty.
//
// A rule claims only what is true for every input. argosy/sharding/rules/rules_test.cc tests each claim of each op by
// brute force. Without a claim, a node is computed whole, on gathered inputs: slower, but never wrong.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "argosy/op/definition/op_def.h"

namespace argosy {

// What sharding a node along a factor gives for outputs that lack the factor.
enum class FactorRole : char {
  kPass,   // there is no such output
  kEqual,  // such outputs do not depend on it, so they are replicated: the other tensors of IdentityN
  kSum,    // partial sums: the global value is the sum over the shards
  // Partial sums, if every shard divides by the global count. A shard's own mean must be weighted by size of the shard
  // / size of the factor. So a lowering adds that weight, or rewrites Mean as Sum / global count.
  kMean,
  kMax,    // the global value is the maximum over the shards, element by element
  kMin,    // the minimum
  kWhole,  // the node must not be sharded along this factor: Softmax along its classes
  kHalo,   // sharding needs rows of neighbouring shards: a convolution along its height. Treated as kWhole so far.
  kRows,   // an integer input indexes its elements: the rows of Gather's table. Treated as kWhole so far.
};

struct Factor {
  std::string name;        // as in the text: "i", "k"
  std::int64_t size = -1;  // -1: not known
  FactorRole role = FactorRole::kPass;
};

// The factors of one dimension, outer first: {b, t} of a dimension of size b * t. Empty: the dimension belongs to no
// factor and must not be sharded (size 1 and broadcast, or nothing is claimed of it).
using FactorsOfDim = std::vector<std::int8_t>;

// How a rule treats one input or output.
struct OperandRule {
  enum class Kind : char {
    kDims,  // by the factors of its dimensions; no dimensions: a scalar
    // An input: read whole, so it must be replicated. An output: scratch for the gradient of the same shard, so each
    // device keeps its own.
    kOpaque,
    // A size operand of output `of`, such as the sizes of Fill. Element d is a multiple of the factors in dims[d]: each
    // device uses its shard's size instead. An element of -1 means "infer it from the others". A device with an empty
    // shard needs the size itself in its place.
    kSizes,
    kShapeOnly,  // an input of which only the shape is read: any placement will do
    kScratch,    // an input: a kOpaque output of the forward node, for the same shard
    kEqual       // an output: equal on every device, whatever is sharded or partial: the index output of Merge
  };
  Kind kind = Kind::kOpaque;
  std::vector<FactorsOfDim> dims = {};  // kDims; kSizes: by element
  int of = -1;                          // kSizes: the output
};

struct ShardingRule {
  enum class Kind : char {
    kFactors,  // as the fields below say
    kWhole,    // every device computes it from replicated inputs
    kOnce,     // reads or writes state that exists once: one device runs it in each step, others get its outputs
  };
  Kind kind = Kind::kWhole;
  std::string why = {};  // kWhole: the reason, for the plan: "axis 0 is sorted"
  std::vector<Factor> factors = {};
  std::vector<OperandRule> inputs = {}, outputs = {};
  // Linear groups. The inputs of one group may be partial sums at the same time, if all other inputs are replicated.
  // The outputs then are partial sums. A replicated member of the group counts once. Add: {{0, 1}}. Mul: {{0}, {1}}.
  std::vector<std::vector<int>> linear = {};
  // Inputs that may be partial maxima (minima) if all others are replicated. The outputs then are partial maxima
  // (minima).
  std::vector<int> monotone = {};
  // Inputs of which no element is read, so they may be partial: OnesLike.
  std::vector<int> unread = {};
  // Inputs that are written: variables. Such an input keeps its layout, and its new value is never partial.
  std::vector<int> updates = {};
  // Factors along which each shard may use its own statistics, if the user asked for that: batch normalisation.
  std::vector<std::int8_t> may_be_local = {};
  bool draws = false;  // draws random numbers: a shard is a block of one stream
};

// The rule of a node, from OpDef::sharding, OpDef::sharding_rule or OpDef::elementwise. `c` knows the shapes of inputs
// and outputs. Returns kWhole, with a reason, if the op has no rule, shapes are not known, or the rule does not cover
// this node. An error means a bug in the rule.
Result<ShardingRule> sharding_rule(const ShapeContext& c);

// True if the op says in its definition how it is sharded, be it "whole" or "once".
bool has_sharding_rule(const OpDef& op);

// Text for people: "i k, k j -> i j; sum k".
std::string to_string(const ShardingRule& rule);

}  // namespace argosy
