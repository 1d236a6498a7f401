// The notation of OpSpec::sharding.
//
//   rule    := "whole:" reason | "once:" reason | operands "->" operands {";" clause}
//   operands := [operand {"," operand}]
//   operand := {dim}          its dimensions, outermost first; none ("-"): a scalar
//            | "."            an input: read whole, replicated. An output: scratch of the op's gradient
//            | "size(" n ")"  an input: the sizes of output n
//            | "shape"        an input: only its shape is read
//            | "scratch"      an input: a "." output of the forward node, for the same shard
//            | "="            an output: equal on every device, whatever is sharded or partial
//            | operand "*"    the operand is a list of tensors, all alike: "values: N * T"
//   dim     := factor | "(" factor factor … ")" | letter ".." | "1", a dimension that belongs to no factor
//   factor  := a letter, with digits or primes: i, k, h', n2
//   clause  := role factor {factor}        roles; "pass" is the default. "i.." means all that the letter stands for
//              role := "equal" | "sum" | "mean" | "max" | "min" | "whole" | "rows" | "halo"
//            | "linear" ("jointly" | "each" | "first")      as OpDef::linear; of the operands with the output's dtype
//            | "linear" inputs {"|" inputs}                 groups of inputs by number: "linear 0 1 | 2"
//            | "monotone" inputs
//            | "unread" inputs
//            | "updates" inputs
//            | "draws"
//            | "local" factor {factor}
//            | "flip" attr input         the last two dimensions of the input are swapped if the attribute is true
//            | "layout" attr             "NCHW" and its kin: the text says NHWC. Operands that begin with factor n are
//                                        permuted: their last dimension becomes dimension 1
//            | "broadcasts"              inputs may have size 1 where others have more; needs known sizes
//
// Clauses number inputs by argument. A list is one argument: all of its tensors.
//
// "i.." stands for any number of dimensions, the same number throughout a rule: as many as the operand has beside those
// that are written. A factor in several operands has one size. Only a rule with "broadcasts" allows less: operands
// with fewer dimensions have the last ones, and a dimension of size 1 where others are larger belongs to no factor.
//
// An input that is a handle has the dimensions of the value behind it: a variable, an element of a list.
//
// A rule without a "linear" clause takes OpDef::linear. Two exceptions: a quotient of integers is not linear, and no op
// on strings is.
#pragma once

#include <string_view>

#include "argosy/op/definition/sharding_rule.h"

namespace argosy {

// Checks the text against the op's arguments. INVALID_ARGUMENT names the op, the text and the mistake. It means a bug
// in the op's definition.
Status check_sharding_text(const OpDef& op, std::string_view text);

// Returns the rule of one node: parses the text and fills in lists, "..", attributes and sizes.
Result<ShardingRule> sharding_rule_from_text(std::string_view text, const ShapeContext& c);

}  // namespace argosy
