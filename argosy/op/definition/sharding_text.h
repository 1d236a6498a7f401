// The notation of OpSpec::sharding.
//
//   rule    := "whole" [":" reason] | "once" | operands "->" operands {";" clause}
//   operands := [operand {"," operand}]
//   operand := {dim}          its dimensions, outermost first; none ("-"): a scalar
//            | "."            an input: read whole, replicated. An output: scratch of the op's gradient
//            | "size(" n ")"  an input: the sizes of output n
//            | "shape"        an input: only its shape is read
//            | operand "*"    the operand is a list of tensors, all alike: "values: N * T"
//   dim     := factor | "(" factor factor … ")" | "1" | letter ".."
//   factor  := a letter, with digits or primes: i, k, h', n2
//   clause  := ("sum" | "max" | "min" | "whole" | "rows" | "halo") factor {factor}     roles; "pass" is the default
//            | "linear" ("jointly" | "each" | "first")      as OpDef::linear; of the operands with the output's dtype
//            | "linear" inputs {"|" inputs}                 groups of inputs by number: "linear 0 1 | 2"
//            | "monotone" inputs
//            | "updates" inputs
//            | "draws"
//            | "local" factor {factor}
//            | "flip" attr input         the last two dimensions of the input change places where the attribute is true
//            | "layout" attr             "NCHW" and its kin: the text says NHWC, operands of rank 4 or 5 are permuted
//
// "i.." stands for any number of dimensions, the same wherever it stands in a rule: as many as the operand has beside
// those that are written. A factor in several operands has one size; a dimension of size 1 where others are larger is
// broadcast and belongs to no factor.
//
// A rule without a "linear" clause takes OpDef::linear.
#pragma once

#include <string_view>

#include "argosy/op/definition/sharding_rule.h"

namespace argosy {

// Checks the text against the op's arguments. INVALID_ARGUMENT names the op, the text and the mistake: a bug of ours.
Status check_sharding_text(const OpDef& op, std::string_view text);

// The text for one node: lists, "..", attributes and sizes filled in.
Result<ShardingRule> sharding_rule_from_text(std::string_view text, const ShapeContext& c);

}  // namespace argosy
