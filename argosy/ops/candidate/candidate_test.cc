#include "argosy/ops/candidate/candidate.h"

#include <gtest/gtest.h>

#include <limits>

#include "argosy/base/system/test_files.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/evaluate.h"
#include "argosy/ops/ops.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

Tensor classes() { return Tensor::of<std::int64_t>({2, 2}, {0, 1, 3, 4}); }
AttrMap attrs(int sampled, bool unique) {
  return {{"num_true", 2}, {"num_sampled", sampled}, {"unique", unique}, {"seed", 1}, {"seed2", 2}};
}
AttrMap with_range(AttrMap map, std::int64_t range) {
  map.set("range_max", range);
  return map;
}

// The numbers themselves are TensorFlow's: tests/oracle/ops/compare_ops.py holds every case against it.
TEST(CandidateOps, Draws) {
  for (const bool unique : {false, true}) {
    for (const char* op : {"LogUniformCandidateSampler", "UniformCandidateSampler", "LearnedUnigramCandidateSampler",
                           "ThreadUnsafeUnigramCandidateSampler"}) {
      check({.op = op, .inputs = {classes()}, .attrs = with_range(attrs(5, unique), 10)});
      check({.op = op, .inputs = {classes()}, .attrs = with_range(attrs(40, unique), 1000)});
      check({.op = op, .inputs = {classes()}, .attrs = with_range(attrs(64, unique), 64)});
      check({.op = op, .inputs = {Tensor::zeros(DType::kInt64, {0, 2})}, .attrs = with_range(attrs(3, unique), 10)});
    }
    check({.op = "AllCandidateSampler", .inputs = {classes()}, .attrs = attrs(5, unique)});
    AttrMap fixed = with_range(attrs(4, unique), 6);
    fixed.set("unigrams", std::vector<float>{5, 1, 0.5f, 2, 2, 3});
    check({.op = "FixedUnigramCandidateSampler", .inputs = {classes()}, .attrs = fixed});
    fixed.set("distortion", 0.75f);
    check({.op = "FixedUnigramCandidateSampler", .inputs = {classes()}, .attrs = fixed});
    fixed.set("range_max", std::int64_t{8});
    fixed.set("num_reserved_ids", std::int64_t{2});
    check({.op = "FixedUnigramCandidateSampler", .inputs = {classes()}, .attrs = fixed});
  }
  // Every second class.
  AttrMap shard = with_range(attrs(2, true), 5);
  shard.set("unigrams", std::vector<float>{5, 1, 0.5f, 2, 2, 3, 4, 1, 1, 9});
  shard.set("num_shards", std::int64_t{2});
  shard.set("shard", std::int64_t{1});
  check({.op = "FixedUnigramCandidateSampler", .inputs = {classes()}, .attrs = shard});
}

TEST(CandidateOps, LearnsWhatWasTrue) {
  Graph graph;
  const Value trues =
      graph.add("Const", {}, {{"value", Tensor::of<std::int64_t>({1, 3}, {7, 7, 7})}, {"dtype", DType::kInt64}});
  CandidateOptions options{.num_true = 3, .num_sampled = 400, .unique = false, .seed = 5};
  const Candidates drawn = learned_unigram_candidates(trues, 10, options);
  const auto first = evaluate(graph, {}, {drawn.sampled_expected_count.endpoint()});
  ASSERT_TRUE(first.ok()) << first.status().to_string();
  for (const float count : (*first)[0].values<float>()) EXPECT_FLOAT_EQ(count, 40);
}

TEST(CandidateOps, WeightsFromAFile) {
  const TempDirectory folder;
  const std::string path = folder.path("vocab.csv");
  folder.write("vocab.csv", "the,3\nof,1\nand, 1\n");
  AttrMap map = with_range(attrs(2, true), 3);
  map.set("vocab_file", path);
  const OpDef* const op = builtin_ops().find("FixedUnigramCandidateSampler");
  const Tensor trues = Tensor::of<std::int64_t>({1, 2}, {0, 2});
  const auto drawn = evaluate_op(*op, map, {trues});
  ASSERT_TRUE(drawn.ok()) << drawn.status().to_string();
  folder.write("vocab.csv", "the,3\nof,many\n");
  const auto wrong = evaluate_op(*op, map, {trues});
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.status().message().find("of,many"), std::string::npos) << wrong.status().to_string();
}

TEST(CandidateOps, Hits) {
  check({.op = "ComputeAccidentalHits",
         .inputs = {classes(), Tensor::vector<std::int64_t>({4, 4, 1})},
         .attrs = {{"num_true", 2}},
         .expect = {
             Tensor::vector<std::int32_t>({0, 1}), Tensor::vector<std::int64_t>({2, 1}),
             Tensor::vector<float>({std::numeric_limits<float>::lowest(), std::numeric_limits<float>::lowest()})}});
  check({.op = "ComputeAccidentalHits",
         .inputs = {classes(), Tensor::vector<std::int64_t>({})},
         .attrs = {{"num_true", 2}}});
  check({.op = "ComputeAccidentalHits",
         .inputs = {classes(), Tensor::vector<std::int64_t>({4})},
         .attrs = {{"num_true", 1}},
         .error = Code::kInvalidArgument});
}

TEST(CandidateOps, Refuses) {
  const auto refuses = [](const char* op, Tensor trues, AttrMap map) {
    check({.op = op, .inputs = {std::move(trues)}, .attrs = std::move(map), .error = Code::kInvalidArgument});
  };
  refuses("LogUniformCandidateSampler", classes(), with_range(attrs(11, true), 10));
  refuses("UniformCandidateSampler", Tensor::of<std::int64_t>({1, 2}, {0, 10}), with_range(attrs(3, true), 10));
  refuses("UniformCandidateSampler", Tensor::of<std::int64_t>({1, 2}, {0, -1}), with_range(attrs(3, true), 10));
  refuses("UniformCandidateSampler", Tensor::vector<std::int64_t>({0, 1}), with_range(attrs(3, true), 10));
  refuses("UniformCandidateSampler", Tensor::of<std::int64_t>({1, 1}, {0}), with_range(attrs(3, true), 10));
  refuses("FixedUnigramCandidateSampler", classes(), with_range(attrs(3, true), 10));
  AttrMap fixed = with_range(attrs(3, true), 10);
  fixed.set("unigrams", std::vector<float>{1, 2, 3});
  refuses("FixedUnigramCandidateSampler", classes(), fixed);
}

}  // namespace
}  // namespace argosy
