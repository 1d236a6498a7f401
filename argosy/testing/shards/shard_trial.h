// Tests of sharding rules: runs a case on global values and on shards, and compares. So it checks whether a claim of
// the rule holds for the case.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "argosy/op/definition/sharding_rule.h"
#include "argosy/sharding/rules/candidates.h"
#include "argosy/testing/op_cases/random_case.h"
#include "argosy/testing/op_cases/recorded_case.h"

namespace argosy {

// The result of a run of a case. `after[i]`: the value of the variable that input i is; invalid for other inputs.
struct CaseResult {
  std::vector<Tensor> outputs, after;
};

// True if all inputs have elements that can be sharded: no variants, and no handles but those of variables with a
// value.
bool is_tensor_case(const RandomCase& c);

// An input of a case: a variable that holds `value`.
Tensor variable_case(const Tensor& value);

// A recorded case with new variables. nullopt: a value that it needs was not recorded, or attributes do not fit it.
std::optional<RandomCase> as_random_case(const OpDef& op, const RecordedCase& recorded);

// Runs the case on its first CPU kernel. The case's own variables keep their values.
Result<CaseResult> run_case(const RandomCase& c);

// The rule of the case's node, whose outputs have the shapes of `result`. Every `hidden`-th size and integer is hidden
// from the rule (0: none).
Result<ShardingRule> rule_of_case(const RandomCase& c, const CaseResult& result, int hidden = 0);

// The size of the factor that the candidate shards, also where the rule does not know it. 0: it shards no factor.
std::int64_t size_of_factor(const RandomCase& c, const CaseResult& result, const ShardingRule& rule,
                            const RuleCandidate& candidate);

struct TrialOutcome {
  enum class Kind : char {
    kHeld,
    kWrong,         // the rule's claim is not true
    kRefusesEmpty,  // the kernel refuses a shard without elements: an error, not a wrong value
    kNotTried       // nothing to compare: a value is not finite, or not below 1000
  };
  Kind kind = Kind::kHeld;
  std::string why = {};  // kWrong, kRefusesEmpty
};

// Tries a candidate that shards a factor. `ends`: where the shards end along the factor; {1, 4} are two shards, of 1
// and 3 elements.
TrialOutcome try_factor(const RandomCase& c, const CaseResult& global, const ShardingRule& rule,
                        const RuleCandidate& candidate, const std::vector<std::int64_t>& ends);

// Tries a candidate with partial inputs. The inputs `partial` are split into unequal partial values; the other members
// of the linear group are on the first shard only.
TrialOutcome try_partial(const RandomCase& c, const CaseResult& global, const RuleCandidate& candidate,
                         const std::vector<int>& partial, int shards);

// How the rule does not fit the node's tensors: the numbers of operands and dimensions, the sizes of factors. "": it
// fits.
std::string misfit(const RandomCase& c, const CaseResult& result, const ShardingRule& rule);

}  // namespace argosy
