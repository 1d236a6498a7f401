// Iterators whose elements go to several devices in turn, and what strategies do to datasets before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "argosy/formats/proto/graph.pb.h"
#include "argosy/ops/constant/constant.h"
#include "tests/session/pipeline_test.h"
#include "tests/session/support/test_session.h"

namespace argosy {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const AttrMap kNumbers = {{"output_types", std::vector<DType>{DType::kInt64}},
                          {"output_shapes", std::vector<PartialShape>{PartialShape::scalar()}}};

class MultiDeviceIterators : public testing::Test {
 protected:
  MultiDeviceIterators() {
    AttrMap attrs = kNumbers;
    attrs.set("devices", std::vector<std::string>{"/gpu:0", "/gpu:1"});
    attrs.set("shared_name", "");
    attrs.set("container", "");
    handle_ = graph_.add("MultiDeviceIterator", {}, attrs);
    init_ = graph_.add("MultiDeviceIteratorInit",
                       {range_dataset(graph_, 0, 7).dataset, handle_, constant(graph_, std::int64_t{2})});
    pass_ = placeholder(graph_, DType::kInt64, PartialShape::scalar(), "pass");
    for (std::int32_t shard = 0; shard < 3; ++shard) {
      next_.push_back(
          graph_.add("MultiDeviceIteratorGetNextFromShard", {handle_, constant(graph_, shard), pass_}, kNumbers));
    }
  }
  void start() {
    ASSERT_TRUE(graph_.status().ok()) << graph_.status().to_string();
    const auto out = session_.run({init_});
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    number_ = (*out)[0];
  }
  Result<std::vector<Tensor>> ask(const std::vector<int>& shards, RunOptions options = {}) {
    std::vector<Value> values;
    for (const int shard : shards) values.push_back(next_[shard]);
    return session_.run({{pass_, number_}}, values, {}, options);
  }
  std::string told(const std::vector<int>& shards) {
    const auto out = ask(shards);
    if (!out.ok()) return out.status().message();
    std::string text;
    for (const Tensor& t : *out) text += values_of(t) + " ";
    return text;
  }

  Graph graph_;
  TestSession session_{graph_, {.devices = {.emulate = "2"}}};
  Value handle_, init_, pass_;
  std::vector<Value> next_;
  Tensor number_ = Tensor::scalar(std::int64_t{0});
};

TEST_F(MultiDeviceIterators, DealOutElements) {
  EXPECT_THAT(told({0}), HasSubstr("has not been initialized"));
  for (int pass = 0; pass < 2; ++pass) {
    start();
    EXPECT_EQ(told({0, 1}), "0 1 ");
    EXPECT_EQ(told({1}), "3 ");
    EXPECT_EQ(told({1, 0}), "5 2 ");
    EXPECT_EQ(told({0}), "4 ");
    EXPECT_EQ(told({0}), "6 ");
    EXPECT_EQ(told({1}), "End of sequence");
    EXPECT_EQ(told({0}), "End of sequence");
  }
  EXPECT_THAT(told({2}), HasSubstr("there is no shard 2: the iterator has 2"));
  number_ = Tensor::scalar(std::int64_t{1});
  EXPECT_EQ(told({0}), "Invalid incarnation id. Provided: 1; Expected: 2");
}

// Two places a shard: who takes no part holds up the others, until the deadline.
TEST_F(MultiDeviceIterators, AShardThatNobodyAsksHoldsUpTheOthers) {
  start();
  EXPECT_EQ(told({0}), "0 ");
  EXPECT_EQ(told({0}), "2 ");
  EXPECT_EQ(told({0}), "4 ");
  EXPECT_EQ(ask({0}, {.timeout = std::chrono::milliseconds(50)}).status().code(), Code::kDeadlineExceeded);
  EXPECT_EQ(told({1}), "1 ");
  EXPECT_EQ(told({0}), "6 ") << "who gave up took nothing along";
}

TEST_F(MultiDeviceIterators, AreNamedByTexts) {
  const Value text = graph_.add("MultiDeviceIteratorToStringHandle", {handle_});
  const Value fed = placeholder(graph_, DType::kString, PartialShape::scalar(), "which");
  const Value found = graph_.add("MultiDeviceIteratorFromStringHandle", {fed}, kNumbers);
  const Value next =
      graph_.add("MultiDeviceIteratorGetNextFromShard", {found, constant(graph_, std::int32_t{1}), pass_}, kNumbers);
  start();
  const auto name = session_.run({text});
  ASSERT_TRUE(name.ok()) << name.status().to_string();
  const auto out = session_.run({{fed, (*name)[0]}, {pass_, number_}}, {next});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(values_of((*out)[0]), "1");
  const Value deleter = graph_.add("AnonymousMemoryCache", {}).output(1);  // any variant will do
  ASSERT_TRUE(session_.run_targets({graph_.add("DeleteMultiDeviceIterator", {handle_, deleter}, {{"N", 0}})}).ok());
  EXPECT_EQ(session_.run({{fed, (*name)[0]}, {pass_, number_}}, {next}).status().code(), Code::kNotFound);
}

TEST_F(MultiDeviceIterators, WithoutANameLiveAsLongAsTheirHandle) {
  for (const char* op : {"AnonymousMultiDeviceIterator", "AnonymousMultiDeviceIteratorV3"}) {
    Graph graph;
    AttrMap attrs = kNumbers;
    attrs.set("devices", std::vector<std::string>{"/gpu:0"});
    const Value handle = graph.add(op, {}, attrs);
    const Value pass = graph.add("MultiDeviceIteratorInit",
                                 {range_dataset(graph, 3, 9).dataset, handle, constant(graph, std::int64_t{1})});
    const Value next =
        graph.add("MultiDeviceIteratorGetNextFromShard", {handle, constant(graph, std::int32_t{0}), pass}, kNumbers);
    ASSERT_TRUE(graph.status().ok()) << graph.status().to_string();
    TestSession session(graph, {.devices = {.emulate = "1"}});
    const auto out = session.run({next});
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    EXPECT_EQ(values_of((*out)[0]), "3") << op;
  }
}

// Iterators and what hands elements on have kernels for GPUs in TensorFlow: nobody needs soft placement for them.
TEST(DeviceIterators, AreAskedForOnGpus) {
  Graph graph;
  const InputPipeline numbers = range_dataset(graph, 4, 9);  // this one has not
  std::vector<Value> next;
  Value initializer;
  {
    const auto here = graph.device("/gpu:1");
    const IteratorValue iterator = initializable_iterator(prefetch_dataset(numbers, 1));
    initializer = iterator.initializer;
    next = iterator.next;
  }
  TestSession session(graph, {.devices = {.emulate = "2"}, .allow_soft_placement = false});
  const Status started = session.run_targets({initializer});
  ASSERT_TRUE(started.ok()) << started.to_string();
  const auto out = session.run(next);
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(values_of((*out)[0]), "4");
}

InputPipeline with(std::string_view op, const InputPipeline& input, std::vector<Value> more) {
  std::vector<Value> inputs = {input.dataset};
  inputs.insert(inputs.end(), more.begin(), more.end());
  return {input.dataset.graph().add(op, inputs, {{"output_types", input.types}, {"output_shapes", input.shapes}}),
          input.types, input.shapes};
}

TEST(Rebatching, GivesEachReplicaItsPart) {
  for (const char* op : {"RebatchDataset", "ExperimentalRebatchDataset"}) {
    const auto parts = [&](std::int64_t rows, std::int64_t size, std::int64_t replicas) {
      return all_of(
          [&](Graph& g) { return with(op, batch_dataset(range_dataset(g, 0, rows), size), {constant(g, replicas)}); });
    };
    EXPECT_THAT(parts(16, 7, 3),
                ElementsAre("[0 1 2]", "[3 4 5]", "[6]", "[7 8 9]", "[10 11 12]", "[13]", "[14]", "[15]", "[]"));
    EXPECT_THAT(parts(5, 5, 4), ElementsAre("[0 1]", "[2 3]", "[4]", "[]"));
    EXPECT_THAT(parts(2, 1, 2), ElementsAre("[0]", "[]", "[1]", "[]"));
  }
}

TEST(Rebatching, BatchesAreSeen) {
  const auto size = [](const std::function<InputPipeline(Graph&)>& make) {
    Graph g;
    const Value seen = g.add("ComputeBatchSize", {make(g).dataset});
    EXPECT_TRUE(g.status().ok()) << g.status().to_string();
    TestSession session(g);
    const auto out = session.run({seen});
    return out.ok() ? *(*out)[0].data<std::int64_t>() : -99;
  };
  const auto batches = [](Graph& g) { return batch_dataset(range_dataset(g, 0, 22), 8); };
  EXPECT_EQ(size(batches), 8);
  EXPECT_EQ(size([&](Graph& g) { return prefetch_dataset(repeat_dataset(batches(g), 2), 1); }), 8);
  EXPECT_EQ(size([&](Graph& g) {
              return map_dataset(batches(g), [](const auto& e) -> std::vector<Value> { return {e[0]}; });
            }),
            -1);
  EXPECT_EQ(size([&](Graph& g) { return batch_dataset(batches(g), 3); }), 3);
  EXPECT_EQ(size([&](Graph& g) { return zip_dataset({batches(g), batches(g)}); }), 8);
  EXPECT_EQ(size([](Graph& g) { return range_dataset(g, 0, 4); }), -1);
}

TEST(DatasetTexts, LeadToTheDatasetWithinTheStep) {
  for (const char* op : {"DatasetToGraph", "DatasetToGraphV2"}) {
    EXPECT_THAT(all_of([&](Graph& g) {
                  InputPipeline p = range_dataset(g, 3, 6);
                  p.dataset = g.add("DatasetFromGraph", {g.add(op, {p.dataset})});
                  return p;
                }),
                ElementsAre("3", "4", "5"));
  }
  EXPECT_THAT(all_of([&](Graph& g) {
                InputPipeline p = range_dataset(g, 3, 6);
                p.dataset = g.add("UnwrapDatasetVariant", {g.add("WrapDatasetVariant", {p.dataset})});
                return p;
              }),
              ElementsAre("3", "4", "5"));
  Graph g;
  // A GraphDef in which the ops can be found.
  const InputPipeline p = shuffle_dataset(range_dataset(g, 3, 6), 2);
  const Value made = g.add("DatasetToGraphV2", {p.dataset});
  const Value text = placeholder(g, DType::kString, PartialShape::scalar());
  const Value seen = g.add("ComputeBatchSize", {g.add("DatasetFromGraph", {text})});
  TestSession session(g);
  const auto ops = session.run({made});
  ASSERT_TRUE(ops.ok()) << ops.status().to_string();
  tensorflow::GraphDef parsed;
  ASSERT_TRUE(parsed.ParseFromString(*ops->at(0).data<std::string>()));
  ASSERT_EQ(parsed.node_size(), 2);
  EXPECT_EQ(parsed.node(0).op(), g.node(p.dataset.node()).op->name);
  EXPECT_EQ(parsed.node(1).op(), "RangeDataset");
  EXPECT_EQ(parsed.node(0).input(0), parsed.node(1).name());
  const Status foreign = session.run({{text, Tensor::scalar("graph")}}, {seen}).status();
  EXPECT_EQ(foreign.id(), "ARG-DATASET-002") << foreign.to_string();
}

}  // namespace
}  // namespace argosy
