// What steps of a session change is what it was once it is put back: variables, queues in their order, tables, streams.
#include "argosy/tf/server/session/session_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "argosy/ops/accumulator/accumulator.h"
#include "argosy/ops/candidate/candidate.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/state/state.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy::tf {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Key;
using testing::Not;

const std::vector<DType> kFloats = {DType::kFloat32};

class SessionStateTest : public testing::Test {
 protected:
  Result<std::vector<Tensor>> run(const std::vector<Value>& fetches, const std::vector<Value>& targets = {}) {
    if (session_ == nullptr) session_ = std::make_unique<Session>(g_, SessionOptions{.devices = {.emulate = "2"}});
    return session_->run({}, fetches, targets);
  }
  float number(Value fetch) {
    const auto got = run({fetch});
    EXPECT_TRUE(got.ok()) << got.status().to_string();
    return got.ok() ? *(*got)[0].data<float>() : 0;
  }
  SessionState aside(bool containers) {
    auto state = SessionState::snapshot(*session_, containers);
    EXPECT_TRUE(state.ok()) << state.status().to_string();
    return *std::move(state);
  }

  Graph g_;
  std::unique_ptr<Session> session_;
};

TEST_F(SessionStateTest, VariablesComeBackAndTellWhatWasWritten) {
  const VariableNode w = variable(g_, Tensor::scalar(1.0f), "w"), v = variable(g_, Tensor::scalar(5.0f), "v");
  const VariableNode late = variable(g_, Tensor::scalar(9.0f), "late");
  const Value add = g_.add("AssignAdd", {w.ref, constant(g_, 2.0f)});
  ASSERT_TRUE(run({}, {w.initializer, v.initializer}).ok());
  EXPECT_FALSE(run({late.read}).ok());
  const SessionState state = aside(false);
  ASSERT_TRUE(run({}, {add, late.initializer}).ok());
  const auto changed = state.changed();
  ASSERT_TRUE(changed.ok());
  EXPECT_THAT(*changed, Contains(Key("w")));
  EXPECT_THAT(*changed, Not(Contains(Key("v"))));
  EXPECT_EQ(*changed->at("w").data<float>(), 3);
  EXPECT_EQ(*state.before(*changed)->at("w").data<float>(), 1);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(state.put_back().ok());
    EXPECT_EQ(number(w.read), 1);
    EXPECT_FALSE(run({late.read}).ok());  // it had no value
    EXPECT_EQ(number(add), 3);
  }
  ASSERT_TRUE(state.put_back().ok());
  ASSERT_TRUE(state.perturb(*changed, DType::kFloat32).ok());
  EXPECT_NE(number(w.read), 1);
  EXPECT_NEAR(number(w.read), 1, 1e-5);
  EXPECT_EQ(number(v.read), 5);
}

TEST_F(SessionStateTest, QueuesGiveTheSameElementsAgain) {
  const Value fifo =
      g_.add("FIFOQueueV2", {}, {{"component_types", kFloats}, {"shared_name", std::string("fifo")}}, "fifo");
  const Value shuffled =
      g_.add("RandomShuffleQueueV2", {},
             {{"component_types", kFloats}, {"seed", std::int64_t{3}}, {"seed2", std::int64_t{4}}}, "mix");
  const Value many = constant(g_, Tensor::vector<float>({1, 2, 3, 4, 5, 6}));
  std::vector<Value> puts, takes;
  for (const Value& queue : {fifo, shuffled}) {
    puts.push_back(g_.add("QueueEnqueueManyV2", {queue, many}, {{"Tcomponents", kFloats}}));
    takes.push_back(g_.add("QueueDequeueV2", {queue}, {{"component_types", kFloats}}));
  }
  ASSERT_TRUE(run({}, puts).ok());
  (void)number(takes[1]);
  const SessionState state = aside(true);
  std::vector<float> first;
  for (int round = 0; round < 3; ++round) {
    std::vector<float> taken;
    for (int i = 0; i < 3; ++i) {
      taken.push_back(number(takes[0]));
      taken.push_back(number(takes[1]));
    }
    if (round == 0) first = taken;
    EXPECT_EQ(taken, first);
    const auto after = state.changed();
    ASSERT_TRUE(after.ok());
    EXPECT_EQ(*after->at("fifo (how many pieces)").data<std::int64_t>(), 4);  // three elements, and "not closed"
    EXPECT_EQ(*after->at("mix (how many pieces)").data<std::int64_t>(), 3);
    ASSERT_TRUE(state.put_back().ok());
  }
}

TEST_F(SessionStateTest, AQueueThatAStepWaitsAtIsLeftAlone) {
  const Value queue = g_.add("FIFOQueueV2", {}, {{"component_types", kFloats}, {"shared_name", std::string("q")}}, "q");
  const Value put = g_.add("QueueEnqueueV2", {queue, constant(g_, 7.0f)}, {{"Tcomponents", kFloats}});
  const Value take = g_.add("QueueDequeueV2", {queue}, {{"component_types", kFloats}});
  const Value size = g_.add("QueueSizeV2", {queue});
  ASSERT_TRUE(run({size}).ok());
  std::thread waiting([&] { EXPECT_EQ(number(take), 7); });
  Status refused;
  for (int i = 0; i < 2000 && refused.ok(); ++i) {  // until it waits
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    refused = SessionState::snapshot(*session_, true).status();
  }
  EXPECT_THAT(refused.message(), HasSubstr("steps wait at the queue"));
  EXPECT_TRUE(SessionState::snapshot(*session_, false).ok());  // of a step that uses no queue
  ASSERT_TRUE(run({}, {put}).ok());
  waiting.join();
}

TEST_F(SessionStateTest, AccumulatorsGiveTheSameGradientsAgain) {
  const Value dense = accumulator(g_, {.dtype = DType::kFloat32, .shape = {2}, .shared_name = "dense"});
  const Value rows = sparse_accumulator(g_, {.dtype = DType::kFloat32, .shape = {4, 1}, .shared_name = "rows"});
  const Value zero = constant(g_, std::int64_t{0}), one = constant(g_, std::int32_t{1});
  const Value add = accumulator_apply(dense, zero, constant(g_, Tensor::vector<float>({1, 2})));
  const Value add_rows =
      g_.add("SparseAccumulatorApplyGradient",
             {rows, zero, constant(g_, Tensor::vector<std::int64_t>({1, 3})),
              constant(g_, Tensor::of<float>({2, 1}, {5, 7})), constant(g_, Tensor::vector<std::int64_t>({4, 1}))},
             {{"dtype", DType::kFloat32}, {"has_known_shape", true}});
  const Value take = accumulator_take(dense, one, DType::kFloat32);
  const Value taken = g_.add("SparseAccumulatorTakeGradient", {rows, one}, {{"dtype", DType::kFloat32}});
  ASSERT_TRUE(g_.status().ok()) << g_.status().to_string();
  ASSERT_TRUE(run({}, {add, add_rows}).ok());
  const SessionState state = aside(true);
  const auto before = state.changed();
  ASSERT_TRUE(before.ok());
  EXPECT_THAT(*before, Contains(Key("dense[2]")));  // its sum, behind step and count
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(run({}, {add, add_rows}).ok());
    ASSERT_TRUE(run({}, {add, add_rows}).ok());
    const auto got = run({take, taken.output(1)});
    ASSERT_TRUE(got.ok()) << got.status().to_string();
    EXPECT_EQ((*got)[0].to_string(), "float[2] {1, 2}");
    EXPECT_EQ((*got)[1].to_string(), "float[2,1] {5, 7}");
    EXPECT_EQ(*state.changed()->at("dense[1]").data<std::int64_t>(), 0);  // nothing is left
    ASSERT_TRUE(state.put_back().ok());
    const auto again = state.changed();
    ASSERT_TRUE(again.ok());
    ASSERT_EQ(again->size(), before->size());
    for (const auto& [name, value] : *before) EXPECT_EQ(difference(again->at(name), value, 0), "") << name;
  }
}

TEST_F(SessionStateTest, CandidatesAreDrawnAgain) {
  const Value trues = constant(g_, Tensor::of<std::int64_t>({2, 1}, {3, 3}));
  const CandidateOptions five{.num_sampled = 5, .unique = false, .seed = 7};
  const std::vector<Value> draws = {log_uniform_candidates(trues, 1000, five).sampled,
                                    learned_unigram_candidates(trues, 50, five).true_expected_count,
                                    learned_unigram_candidates(trues, 50, five).sampled};
  ASSERT_TRUE(run(draws).ok());
  const SessionState state = aside(true);
  std::vector<std::vector<Tensor>> rounds;
  for (int round = 0; round < 3; ++round) {
    for (int k = 0; k < 2; ++k) rounds.push_back(*run(draws));
    ASSERT_TRUE(state.put_back().ok());
  }
  for (std::size_t i = 0; i < draws.size(); ++i) {
    EXPECT_NE(difference(rounds[1][i], rounds[0][i], 0), "")
        << "the stream goes on, and so does what is learned: " << i;
    for (std::size_t k = 2; k < rounds.size(); ++k) EXPECT_EQ(difference(rounds[k][i], rounds[k % 2][i], 0), "") << i;
  }
}

// One device has no stream of a replica's: it is put back, and not compared.
TEST_F(SessionStateTest, AReplicasStreamComesBackUnseen) {
  const Value shape = constant(g_, Tensor::vector<std::int32_t>({3}));
  std::vector<Value> draws;
  for (const char* name : {"noise", "noise/replica_1"}) {
    draws.push_back(g_.add("RandomUniform", {shape},
                           {{"dtype", DType::kFloat32}, {"seed", std::int64_t{5}}, {"seed2", std::int64_t{6}}}, name));
  }
  ASSERT_TRUE(run(draws).ok());
  const SessionState state = aside(true);
  const auto first = run(draws), second = run(draws);
  const auto changed = state.changed();
  ASSERT_TRUE(first.ok() && second.ok() && changed.ok());
  EXPECT_NE(difference((*first)[1], (*second)[1], 0), "");
  EXPECT_THAT(*changed, Contains(Key("noise[0]")));
  EXPECT_THAT(*changed, Not(Contains(Key("noise/replica_1[0]"))));
  ASSERT_TRUE(state.put_back().ok());
  const auto again = run(draws);
  for (std::size_t i = 0; i < draws.size(); ++i) EXPECT_EQ(difference((*first)[i], (*again)[i], 0), "") << i;
}

TEST_F(SessionStateTest, TablesAndStreamsComeBack) {
  const Value table =
      g_.add("MutableHashTableV2", {},
             {{"key_dtype", DType::kInt64}, {"value_dtype", DType::kFloat32}, {"shared_name", std::string("t")}}, "t");
  const Value key = constant(g_, Tensor::vector<std::int64_t>({3}));
  const auto insert = [&](float value) {
    return g_.add("LookupTableInsertV2", {table, key, constant(g_, Tensor::vector<float>({value}))});
  };
  const Value one = insert(1), two = insert(2);
  const Value find = g_.add("LookupTableFindV2", {table, key, constant(g_, 0.0f)});
  const Value noise =
      g_.add("RandomUniform", {constant(g_, Tensor::vector<std::int32_t>({1}))},
             {{"dtype", DType::kFloat32}, {"seed", std::int64_t{1}}, {"seed2", std::int64_t{2}}}, "noise");
  ASSERT_TRUE(run({}, {one}).ok());
  (void)number(noise);
  const SessionState state = aside(true);
  const float next = number(noise);
  ASSERT_TRUE(run({}, {two}).ok());
  EXPECT_EQ(number(find), 2);
  ASSERT_TRUE(state.put_back().ok());
  EXPECT_EQ(number(find), 1);
  EXPECT_EQ(number(noise), next);
  EXPECT_NE(number(noise), next);
}

}  // namespace
}  // namespace argosy::tf
