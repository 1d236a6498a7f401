#include "argosy/sharding/rules/candidates.h"

#include <gtest/gtest.h>

namespace argosy {
namespace {

using Kind = OperandRule::Kind;

std::vector<std::string> texts(const ShardingRule& rule) {
  std::vector<std::string> all;
  for (const RuleCandidate& c : candidates(rule)) {
    std::string text = c.what + ":";
    for (const Placement& p : c.inputs) text += " " + to_string(p);
    text += " ->";
    for (const Placement& p : c.outputs) text += " " + to_string(p);
    for (const LocalSize& s : c.sizes) text += str_cat(" size ", s.input, "[", s.element, "]");
    if (c.mean) text += " mean";
    all.push_back(std::move(text));
  }
  return all;
}

OperandRule dims(std::vector<FactorsOfDim> d) { return {.kind = Kind::kDims, .dims = std::move(d)}; }

ShardingRule product() {
  return {.kind = ShardingRule::Kind::kFactors,
          .factors = {{"i", 4}, {"k", 3, FactorRole::kSum}, {"j", 5}},
          .inputs = {dims({{0}, {1}}), dims({{1}, {2}})},
          .outputs = {dims({{0}, {2}})},
          .linear = {{0}, {1}}};
}

TEST(Candidates, OfAProduct) {
  EXPECT_EQ(texts(product()),
            (std::vector<std::string>{"replicated: R R -> R", "along i: S(0) R -> S(0)", "along k: S(1) S(0) -> P(sum)",
                                      "along j: R S(1) -> S(1)", "sum of input 0: P(sum) R -> P(sum)",
                                      "sum of input 1: R P(sum) -> P(sum)"}));
}

TEST(Candidates, SizesRoundsScratchAndEqualOutputs) {
  ShardingRule rule{.kind = ShardingRule::Kind::kFactors,
                    .factors = {{"b", 2}, {"t", 3, FactorRole::kMean}},
                    .inputs = {dims({{0, 1}}), {.kind = Kind::kSizes, .dims = {{0}}, .of = 0}},
                    .outputs = {dims({{0}}), {.kind = Kind::kOpaque}, {.kind = Kind::kEqual}},
                    .monotone = {0}};
  EXPECT_EQ(texts(rule), (std::vector<std::string>{
                             "replicated: R R -> R R R", "along b: S(0)*3 R -> S(0) V R size 1[0]",
                             "along t: S(0)/2 R -> P(sum) V R mean", "maximum of input 0: P(max) R -> P(max) P(max) R",
                             "minimum of input 0: P(min) R -> P(min) P(min) R"}));
  rule.factors[0].size = -1;  // how often the shards of t come is not known
  EXPECT_EQ(texts(rule).size(), 4u);
}

TEST(Candidates, LeavesOutWhatIsForbidden) {
  ShardingRule rule = product();
  rule.factors[0].role = FactorRole::kWhole;
  rule.factors[1].role = FactorRole::kHalo;
  rule.factors[2].role = FactorRole::kRows;
  EXPECT_EQ(texts(rule).size(), 3u);
  rule.updates = {0};  // never partial
  EXPECT_EQ(texts(rule).size(), 1u);
  ShardingRule diagonal{.kind = ShardingRule::Kind::kFactors,
                        .factors = {{"i", 4}},
                        .inputs = {dims({{0}, {0}})},
                        .outputs = {dims({{0}})}};
  EXPECT_EQ(texts(diagonal).size(), 1u);
  ShardingRule once{.kind = ShardingRule::Kind::kOnce, .outputs = {dims({})}};
  EXPECT_EQ(texts(once), std::vector<std::string>{"once: -> once"});
}

}  // namespace
}  // namespace argosy
