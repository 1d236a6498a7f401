// Checks by brute force what ops declare about shards and partial values (op/definition/sharding_rule.h). Every op with a
// rule runs whole, and on two and three unequal shards along every factor that its rule offers, one shard empty in some.
// The shards' outputs, put together as the rule says, must be the whole's. So must those of unequal partial inputs.
//
// The cases are random (testing/op_cases/random_case.h), hand-written (testing/shards/rule_cases.h), and with ARGOSY_RULE_CASES=FOLDER those that
// the op tests recorded (testing/op_cases/op_dump.h). ARGOSY_RULE_OP names the one op to try, and prints its cases.
// ARGOSY_RULE_TEXT is another rule for that op, to try before it is built. ARGOSY_RULE_UNCLAIMED=1 lists factors that no rule offers although every case would pass.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>

#include "argosy/op/definition/sharding_text.h"
#include "argosy/ops/ops.h"
#include "argosy/sharding/rules/candidates.h"
#include "argosy/testing/op_cases/recorded_case.h"
#include "argosy/testing/op_cases/state_case.h"
#include "argosy/testing/shards/rule_cases.h"
#include "argosy/testing/shards/shard_cases.h"
#include "argosy/testing/shards/shard_trial.h"

namespace argosy {
namespace {

constexpr int kSeeds = 1000;
constexpr int kTriesOfLike = 6;  // cases with one rule
constexpr int kTriesOfOp = 200;
constexpr std::size_t kMostFailures = 4;  // that are told of one op
using Outcome = TrialOutcome::Kind;

// Where two and three shards of n elements end.
std::vector<std::vector<std::int64_t>> splits(std::int64_t n) {
  std::vector<std::vector<std::int64_t>> all = {{1, n}, {0, n}, {n, n}};
  if (n > 2) all.push_back({n - 2, n - 1, n});
  if (n > 3) all.push_back({2, 2, n});
  return all;
}

class OpTrial {
 public:
  explicit OpTrial(const OpDef& op) : op_(op) {}

  void try_case(const RandomCase& c, const std::string& from) {
    if (tries >= kTriesOfOp || failures.size() >= kMostFailures) return;
    if (!is_tensor_case(c)) return;
    const auto global = run_case(c);
    if (!global.ok()) return;
    // With all that is known, and with sizes and integers that are not.
    for (const int hidden : {0, 1, 2, 3}) try_rule(c, from, *global, hidden);
  }

  int tries = 0, claims = 0, refuses_empty = 0;
  std::string refusal;
  std::vector<std::string> failures;     // of different rules and candidates
  std::map<std::string, int> unclaimed;  // held so often; less than 0: failed once

 private:
  void try_rule(const RandomCase& c, const std::string& from, const CaseResult& global, int hidden) {
    const auto rule = rule_of_case(c, global, hidden);
    if (!rule.ok()) return fail(c, from, rule.status().to_string());
    if (const std::string wrong = misfit(c, global, *rule); !wrong.empty()) {
      return fail(c, from, str_cat(to_string(*rule), ": ", wrong));
    }
    if (rule->kind != ShardingRule::Kind::kFactors) return;
    if (++like_[str_cat(hidden, to_string(*rule))] > (hidden == 0 ? kTriesOfLike : 1)) return;
    const int before = claims;
    for (const RuleCandidate& candidate : candidates(*rule)) {
      if (!rule->draws) try_candidate(c, from, global, *rule, candidate);
    }
    if (claims > before) ++tries;
    if (std::getenv("ARGOSY_RULE_OP") != nullptr) {
      std::printf("%s %d claims\n  %s\n", to_string(*rule).c_str(), claims - before, c.describe().c_str());
    }
    if (std::getenv("ARGOSY_RULE_UNCLAIMED") != nullptr) try_unclaimed(c, global, *rule);
  }

  void fail(const RandomCase& c, const std::string& from, const std::string& why, const std::string& kind = "") {
    if (!failed_.insert(kind).second) return;
    failures.push_back(str_cat(op_.name, " (", from, "): ", why, "\n  ", c.describe()));
  }

  void count(const RandomCase& c, const std::string& from, const ShardingRule& rule, const RuleCandidate& candidate,
             const std::string& how, const TrialOutcome& outcome) {
    if (outcome.kind == Outcome::kHeld) ++claims;
    if (outcome.kind == Outcome::kRefusesEmpty) {
      ++refuses_empty;
      refusal = outcome.why;
    }
    if (outcome.kind != Outcome::kWrong) return;
    fail(c, from, str_cat("claims too much: \"", to_string(rule), "\", ", candidate.what, how, ": ", outcome.why),
         str_cat(to_string(rule), candidate.what));
  }

  void try_candidate(const RandomCase& c, const std::string& from, const CaseResult& global, const ShardingRule& rule,
                     const RuleCandidate& candidate) {
    if (candidate.factor >= 0) {
      const std::int64_t n = size_of_factor(c, global, rule, candidate);
      if (n <= 0) return;
      for (const auto& ends : splits(n)) {
        const std::string how = str_cat(" in shards that end at ", str_join(ends));
        count(c, from, rule, candidate, how, try_factor(c, global, rule, candidate, ends));
      }
      return;
    }
    std::vector<int> partial;
    for (std::size_t i = 0; i < candidate.inputs.size(); ++i) {
      if (candidate.inputs[i].is_partial()) partial.push_back(static_cast<int>(i));
    }
    std::vector<std::vector<int>> subsets;
    if (!partial.empty()) subsets.push_back(partial);
    if (partial.size() > 1) {
      for (const int i : partial) subsets.push_back({i});
    }
    for (const auto& subset : subsets) {
      for (const int shards : {2, 3}) {
        const std::string how = str_cat(", parts of inputs ", str_join(subset));
        count(c, from, rule, candidate, how, try_partial(c, global, candidate, subset, shards));
      }
    }
  }

  // Factors that the rule does not offer, taken as if they passed or added up.
  void try_unclaimed(const RandomCase& c, const CaseResult& global, const ShardingRule& rule) {
    for (std::size_t f = 0; f < rule.factors.size(); ++f) {
      const FactorRole role = rule.factors[f].role;
      if (can_shard(rule, static_cast<int>(f)) || rule.factors[f].size < 2) continue;
      if (role != FactorRole::kWhole && role != FactorRole::kRows && role != FactorRole::kHalo) continue;
      ShardingRule bold = rule;
      bold.factors[f].role = FactorRole::kSum;
      for (const RuleCandidate& candidate : candidates(bold)) {
        if (candidate.factor != static_cast<int>(f)) continue;
        const std::int64_t n = rule.factors[f].size;
        const bool held = try_factor(c, global, bold, candidate, {1, n}).kind == Outcome::kHeld;
        int& times = unclaimed[rule.factors[f].name];
        times = held && times >= 0 ? times + 1 : -1;
      }
    }
  }

  const OpDef& op_;
  std::map<std::string, int> like_;
  std::set<std::string> failed_;
};

bool says_nothing_to_try(const OpDef& op) {
  return op.sharding.starts_with("whole") || op.sharding.starts_with("once");
}

// Why no case of this op is tried; empty: it has to be.
std::string why_not_tried(const OpDef& op) {
  if (op.calls != Calls::kNothing) return "calls functions: its graph is looked at";
  if (op.async) return "waits for something";
  if (op.attr("seed") != nullptr || op.sharding.ends_with("draws")) return "random numbers, other ones every time";
  const bool updates = op.sharding_rule != nullptr || op.sharding.find("updates") != std::string::npos;
  if (op.outputs.empty() && !updates) return "gives nothing to compare";
  if (!cpu_kernels().has(op.name, "cpu")) return "has no kernel of its own";
  if (op.flow == Flow::kMerge || op.flow == Flow::kSwitch) return "has dead inputs or outputs";
  if (op.inputs.empty()) return "a source: nothing goes in";
  if (op.sharding.starts_with("shape")) return "only the shape of its input is read";
  if (op.sharding.starts_with("- ->")) return "scalars, which nothing is claimed of";
  for (const ArgDef& arg : op.output_args) {
    if (arg.dtype == DType::kVariant) return "makes a list: containers_test tries it";
  }
  for (const ArgDef& arg : op.input_args) {
    if (arg.dtype == DType::kVariant || arg.name == "table_handle") return "takes what only other ops make";
  }
  return "";
}

std::uint64_t seed_of(const std::string& name) {
  std::uint64_t seed = 1469598103934665603u;
  for (const char letter : name) seed = (seed ^ static_cast<unsigned char>(letter)) * 1099511628211u;
  return seed;
}

void try_random(const OpDef& op, OpTrial& trial) {
  for (const RandomCase& c : shard_cases(op)) trial.try_case(c, "hand-written");
  for (const RandomCase& c : rule_cases(op)) trial.try_case(c, "hand-written");
  for (const RandomCase& c : update_cases(op)) trial.try_case(c, "update");
  for (int k = 0; k < kSeeds && trial.tries < kTriesOfOp; ++k) {
    const auto c = random_case(op, seed_of(op.name) + static_cast<std::uint64_t>(k));
    if (!c) break;
    if (infer(*c, 0).status.ok()) trial.try_case(*c, str_cat("seed ", k));
  }
}

// A rule that is not built yet: ARGOSY_RULE_TEXT for the op ARGOSY_RULE_OP.
TEST(ShardingRules, HoldOfAnotherText) {
  const char *const only = std::getenv("ARGOSY_RULE_OP"), *const text = std::getenv("ARGOSY_RULE_TEXT");
  if (only == nullptr || text == nullptr) GTEST_SKIP() << "ARGOSY_RULE_TEXT is not set";
  OpSpec spec = *builtin_ops().find(only);
  spec.sharding = text;
  spec.sharding_rule = nullptr;
  const auto op = parse_op(std::move(spec));
  ASSERT_TRUE(op.ok()) << op.status().to_string();
  OpTrial trial(*op);
  try_random(*op, trial);
  std::printf("%d cases, %d claims held\n", trial.tries, trial.claims);
  EXPECT_TRUE(trial.failures.empty()) << str_join(trial.failures, "\n");
}

TEST(ShardingRules, HoldOnShardsOfEveryCase) {
  const char* const only = std::getenv("ARGOSY_RULE_OP");
  int with = 0, whole = 0, once = 0, tried = 0, cases = 0, claims = 0;
  std::vector<std::string> untried;
  std::map<std::string, int> reasons;
  std::string empties, unclaimed;
  for (const auto& op : builtin_ops().all()) {
    if (only != nullptr && op->name != only) continue;
    if (!has_sharding_rule(*op)) continue;
    whole += op->sharding.starts_with("whole") ? 1 : 0;
    once += op->sharding.starts_with("once") ? 1 : 0;
    if (says_nothing_to_try(*op)) continue;
    ++with;
    const std::string why = why_not_tried(*op);
    if (!why.empty()) {
      ++reasons[why];
      continue;
    }
    OpTrial trial(*op);
    try_random(*op, trial);
    EXPECT_TRUE(trial.failures.empty()) << str_join(trial.failures, "\n");
    tried += trial.tries > 0 ? 1 : 0;
    cases += trial.tries;
    claims += trial.claims;
    if (trial.tries == 0) untried.push_back(op->name);
    if (trial.refuses_empty > 0) empties += str_cat("  ", op->name, ": ", trial.refusal, "\n");
    for (const auto& [factor, times] : trial.unclaimed) {
      if (times >= 3) unclaimed += str_cat(" ", op->name, "/", factor);
    }
  }
  EXPECT_TRUE(empties.empty()) << "a factor whose shards may be empty, where the kernel refuses that: say whole\n"
                               << empties;
  std::printf("%d ops with factors, %d tried in %d cases: %d claims held; %d ops whole, %d once\n", with, tried, cases,
              claims, whole, once);
  for (const auto& [why, count] : reasons) std::printf("%d not tried: %s\n", count, why.c_str());
  std::printf("%zu not tried, for want of a case: %s\n", untried.size(), str_join(untried, " ").c_str());
  if (std::getenv("ARGOSY_RULE_UNCLAIMED") != nullptr || only != nullptr) {
    std::printf("would have passed, but are not claimed:%s\n", unclaimed.c_str());
  }
}

// The cases of the op tests of this build: ctest `sharding_rules_recorded` runs after them.
TEST(ShardingRules, HoldOnRecordedCases) {
  const char* const folder = std::getenv("ARGOSY_RULE_CASES");
  if (folder == nullptr) GTEST_SKIP() << "ARGOSY_RULE_CASES names no folder of recorded cases";
  const char* const only = std::getenv("ARGOSY_RULE_OP");
  std::map<std::string, OpTrial> trials;
  int tried = 0;
  const auto read = read_cases(folder, [&](const RecordedCase& recorded) {
    if (recorded.error != Code::kOk || (only != nullptr && recorded.op != only)) return;
    const OpDef* const op = builtin_ops().find(recorded.op);
    if (op == nullptr || !has_sharding_rule(*op) || says_nothing_to_try(*op) || !why_not_tried(*op).empty()) return;
    const auto c = as_random_case(*op, recorded);
    if (!c) return;
    ++tried;
    trials.try_emplace(op->name, *op).first->second.try_case(*c, recorded.test);
  });
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  int cases = 0, claims = 0;
  for (const auto& [name, trial] : trials) {
    EXPECT_TRUE(trial.failures.empty()) << str_join(trial.failures, "\n");
    EXPECT_EQ(trial.refuses_empty, 0) << name << ": " << trial.refusal << "\nsay whole for this factor";
    cases += trial.tries;
    claims += trial.claims;
  }
  std::printf("%d cases read, of %zu ops; %d claims of %d of them held\n", tried, trials.size(), claims, cases);
  EXPECT_GT(cases, 0) << "no cases in " << folder;
}

// A rule that claims too much is found.
TEST(ShardingRules, FindWhatIsWrong) {
  const auto failure = [](const char* name, std::string text) {
    OpSpec spec = *builtin_ops().find(name);
    spec.sharding = std::move(text);
    spec.sharding_rule = nullptr;
    spec.linear = Linear::kNo;
    const auto op = parse_op(std::move(spec));
    EXPECT_TRUE(op.ok()) << op.status().to_string();
    OpTrial trial(*op);
    try_random(*op, trial);
    for (int k = 0; k < 400 && trial.failures.empty(); ++k) {
      const auto c = random_case(*op, static_cast<std::uint64_t>(k));
      if (c && infer(*c, 0).status.ok()) trial.try_case(*c, "more");
    }
    return str_join(trial.failures, "\n");
  };
  EXPECT_THAT(failure("Softmax", "i.. c -> i.. c"), testing::HasSubstr("along c"));
  EXPECT_THAT(failure("MatMul", "i k, k j -> i j; whole i k j; linear jointly; flip transpose_a 0; flip transpose_b 1"),
              testing::HasSubstr("parts of inputs"));
  EXPECT_THAT(failure("MatMul", "i k, k j -> i j; max k; flip transpose_a 0; flip transpose_b 1"),
              testing::HasSubstr("along k"));
  EXPECT_THAT(failure("BiasAddGrad", "n i.. c -> c; whole n i.. ; monotone 0; layout data_format"),
              testing::HasSubstr("maximum of input 0"));
  EXPECT_THAT(failure("Neg", "i.. -> i..; monotone 0"), testing::HasSubstr("maximum of input 0"));
  EXPECT_THAT(failure("Relu", "i.. -> i..; linear 0"), testing::HasSubstr("parts of inputs"));
  EXPECT_THAT(failure("BroadcastTo", "i.., . -> i..; broadcasts"), testing::HasSubstr("along"));
}

}  // namespace
}  // namespace argosy
