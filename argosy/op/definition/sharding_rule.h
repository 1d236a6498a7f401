// ShardingRule: how shards and partial values pass through a node, whatever the mesh and the strategy.
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
// A rule claims no more than what is true for every input. argosy/sharding/rules/rules_test.cc tries each claim of each
// op by brute force. What a rule does not claim is computed whole, on gathered inputs: slower, never wrong.
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
  kEqual,  // such outputs do not depend on it: they are replicated. The tensors of IdentityN that others do not touch
  kSum,    // partial sums: the global value is the sum over the shards
  // As kSum, once every shard has divided by the global count. A shard's own mean counts by its share of the elements:
  // size of the shard / size of the factor. So a lowering weights it, or writes Mean as Sum / global count.
  kMean,
  kMax,    // the global value is the maximum over the shards, element by element
  kMin,    // the minimum
  kWhole,  // the node must not be sharded along this factor: Softmax along its classes
  kHalo,   // sharding needs rows of the neighbours: a convolution along its height. Whole, so far.
  kRows,   // an integer input numbers its elements: the rows of Gather's table. Whole, so far.
};

struct Factor {
  std::string name;        // as in the text: "i", "k"
  std::int64_t size = -1;  // -1: not known
  FactorRole role = FactorRole::kPass;
};

// The factors of one dimension, outer first: {b, t} of a dimension of size b * t. Empty: the dimension belongs to no
// factor and must not be sharded (size 1 and broadcast, or nothing is claimed of it).
using FactorsOfDim = std::vector<std::int8_t>;

// How a rule sees one input or output.
struct OperandRule {
  enum class Kind : char {
    kDims,  // by its dimensions; none: a scalar
    // An input: read whole, so it is replicated. An output: scratch that only the gradient of the same shard reads, so
    // each device keeps its own.
    kOpaque,
    // An input of integers that counts elements of output `of`, as the sizes that Fill gets. Element d is a multiple of
    // the factors in dims[d]: a device takes what its own shard has of them. Where an element is -1, for what the others
    // leave open, a device with an empty shard must be told the size instead.
    kSizes,
    kShapeOnly,  // an input of which only the shape is read: any placement will do
    kScratch,    // an input: the scratch of a node before it, of the same shard
    kEqual       // an output: equal on every device, whatever is sharded or partial. The index that Merge gives
  };
  Kind kind = Kind::kOpaque;
  std::vector<FactorsOfDim> dims = {};  // kDims; kSizes: by element
  int of = -1;                          // kSizes: the output
};

struct ShardingRule {
  enum class Kind : char {
    kFactors,  // as the fields below say
    kWhole,    // every device computes it from replicated inputs
    kOnce,     // has or changes state that exists once: one device runs it once a step, others get its outputs
  };
  Kind kind = Kind::kWhole;
  std::string why = {};  // kWhole: the reason, for the plan: "axis 0 is sorted"
  std::vector<Factor> factors = {};
  std::vector<OperandRule> inputs = {}, outputs = {};
  // Groups of inputs. The inputs of one group may be partial sums at once; all others are replicated then, and the
  // outputs are partial sums. A replicated member of the group counts once. Add: {{0, 1}}. Mul: {{0}, {1}}.
  std::vector<std::vector<int>> linear = {};
  // Inputs that may be a partial maximum (minimum) while all others are replicated. The outputs are so then.
  std::vector<int> monotone = {};
  // Inputs of which no element is read: a partial one is as good as a replicated one. OnesLike.
  std::vector<int> unread = {};
  // Inputs that are written: variables. Such an input keeps its layout, and its new value is never partial.
  std::vector<int> updates = {};
  // Factors over which a shard may keep statistics of its own, if the user asked for that: batch normalisation.
  std::vector<std::int8_t> may_be_local = {};
  bool draws = false;  // random numbers: a shard is a block of one stream
};

// The rule of a node, from OpDef::sharding, OpDef::sharding_rule or OpDef::elementwise. `c` knows the shapes of inputs
// and outputs. kWhole, with a reason, where the op says nothing, where shapes are not known, or where its rule does not
// cover this node. An error is a bug of the rule.
Result<ShardingRule> sharding_rule(const ShapeContext& c);

// True if the op says in its definition how it is sharded, be it "whole" or "once".
bool has_sharding_rule(const OpDef& op);

// Text for people: "i k, k j -> i j; sum k".
std::string to_string(const ShardingRule& rule);

}  // namespace argosy
