// Runs a case whole and on shards, and compares: whether what a sharding rule claims of a node is true for this case.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "argosy/op/definition/sharding_rule.h"
#include "argosy/sharding/rules/candidates.h"
#include "argosy/testing/op_cases/random_case.h"
#include "argosy/testing/op_cases/recorded_case.h"

namespace argosy {

// What a run of a case gives. `after`: by input, the value of the variable there; not valid() elsewhere.
struct CaseResult {
  std::vector<Tensor> outputs, after;
};

// All inputs have elements that can be sharded: they are no handles but of variables with a value, and no variants.
bool is_tensor_case(const RandomCase& c);

// An input of a case: a variable that holds `value`.
Tensor variable_case(const Tensor& value);

// A recorded case, its variables made anew. Empty: it has none of the values that it needs.
std::optional<RandomCase> as_random_case(const OpDef& op, const RecordedCase& recorded);

// Runs the case on its first CPU kernel. The case's own variables keep their values.
Result<CaseResult> run_case(const RandomCase& c);

// The rule of the case's node; shapes of outputs are those of `result`. Every `hidden`-th size and integer is not known
// (0: all are).
Result<ShardingRule> rule_of_case(const RandomCase& c, const CaseResult& result, int hidden = 0);

// The elements of the factor that the candidate shards, also where the rule does not know them; 0: there are none.
std::int64_t size_of_factor(const RandomCase& c, const CaseResult& result, const ShardingRule& rule,
                            const RuleCandidate& candidate);

struct TrialOutcome {
  enum class Kind : char {
    kHeld,
    kWrong,         // the claim is not true
    kRefusesEmpty,  // a shard without elements is refused: an error, not a wrong value
    kNotTried       // the values tell nothing: not finite
  };
  Kind kind = Kind::kHeld;
  std::string why = {};  // kWrong, kRefusesEmpty
};

// The candidate shards a factor. `ends`: where the shards end, along the factor: {1, 4} for two shards of 4 elements.
TrialOutcome try_factor(const RandomCase& c, const CaseResult& global, const ShardingRule& rule,
                        const RuleCandidate& candidate, const std::vector<std::int64_t>& ends);

// The candidate has partial inputs: those of `partial` are made so, with unequal parts; other members of the linear
// group count on the first shard.
TrialOutcome try_partial(const RandomCase& c, const CaseResult& global, const RuleCandidate& candidate,
                         const std::vector<int>& partial, int shards);

// Whether the rule fits the node's tensors: as many operands and dimensions, and the sizes of factors. Empty: it does.
std::string misfit(const RandomCase& c, const CaseResult& result, const ShardingRule& rule);

}  // namespace argosy
