// Where pipelines of such ops begin and end: sources, files, caches, counts, tables; and what is refused.
#include "tests/session/dataset_ops_test.h"

#include <gmock/gmock.h>

#include <set>

#include "argosy/base/system/test_files.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/state/state.h"
#include "argosy/ops/table/table.h"
#include "tests/session/support/test_session.h"

namespace argosy::dataset_ops {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(DatasetEnds, Sources) {
  for (const char* op : {"RandomDataset", "ExperimentalRandomDataset"}) {
    const auto random = [&](Graph& g) {
      const Value d = g.add(op, {number(g, 7), number(g, 5)}, {{"output_types", kInt}, {"output_shapes", kScalar}});
      return take_dataset({d, kInt, kScalar}, 3);
    };
    EXPECT_EQ(all_of(random), all_of(random));
    const std::vector<std::string> words = all_of(random);
    EXPECT_EQ(std::set<std::string>(words.begin(), words.end()).size(), 3u);
  }
  EXPECT_EQ(all_of([](Graph& g) {
              const Value d = g.add("RandomDatasetV2", {number(g, 7), number(g, 5), g.add("DummySeedGenerator", {})},
                                    {{"output_types", kInt}, {"output_shapes", kScalar}});
              return take_dataset({d, kInt, kScalar}, 3);
            }).size(),
            3u);
  EXPECT_THAT(all_of([](Graph& g) {
                const Value d =
                    g.add("SparseTensorSliceDataset", {constant(g, Tensor::of<std::int64_t>({2, 2}, {0, 1, 2, 0})),
                                                       constant(g, Tensor::vector<float>({5, 6})),
                                                       constant(g, Tensor::vector<std::int64_t>({3, 4}))});
                return InputPipeline{d,
                                     {DType::kInt64, DType::kFloat32, DType::kInt64},
                                     {PartialShape{-1, 1}, PartialShape{-1}, PartialShape{1}}};
              }),
              ElementsAre("[1] [5] [4]", "[] [] [4]", "[0] [6] [4]"));
}

TEST(DatasetEnds, Files) {
  const TempDirectory dir;
  // Two records as TensorFlow writes them, the second from byte 21 on.
  const std::string records =
      from_hex("0500000000000000eab2043e666972737455ff23e506000000000000007369d5377365636f6e64d3e0d3ca");
  const std::int64_t second = 21;
  dir.write("r", records);
  dir.write("blocks", "abcdef");
  EXPECT_THAT(all_of([&](Graph& g) {
                const Value d = g.add("TFRecordDatasetV2",
                                      {constant(g, Tensor::vector<std::string>({dir.path("r")})), constant(g, ""),
                                       number(g, 0), constant(g, Tensor::vector<std::int64_t>({second}))});
                return InputPipeline{d, {DType::kString}, kScalar};
              }),
              ElementsAre("\"second\""));
  EXPECT_THAT(all_of([&](Graph& g) {
                const Value d =
                    g.add("FixedLengthRecordDatasetV2", {constant(g, dir.path("blocks")), number(g, 0), number(g, 3),
                                                         number(g, 0), number(g, 0), constant(g, "")});
                return InputPipeline{d, {DType::kString}, kScalar};
              }),
              ElementsAre("\"abc\"", "\"def\""));
}

TEST(DatasetEnds, SharedCaches) {
  for (const char* cache : {"AnonymousMemoryCache", "DummyMemoryCache"}) {
    EXPECT_THAT(all_of([&](Graph& g) {
                  return repeat_dataset(add("CacheDatasetV2", numbers(g, 2), {constant(g, ""), g.add(cache, {})}), 2);
                }),
                ElementsAre("0", "1", "0", "1"));
  }
}

TEST(DatasetEnds, HandlesAreLetGo) {
  Graph g;
  const Value cache = g.add("AnonymousMemoryCache", {});
  const Value seeds = g.add("AnonymousSeedGenerator", {number(g, 7), number(g, 5), constant(g, true)});
  const Value words = g.add("AnonymousRandomSeedGenerator", {number(g, 7), number(g, 5)});
  const IteratorValue iterator = initializable_iterator(numbers(g, 3));
  const Value deleter = g.add("OptionalNone", {});
  const std::vector<Value> deleted = {g.add("DeleteMemoryCache", {cache, cache.output(1)}),
                                      g.add("DeleteSeedGenerator", {seeds, seeds.output(1)}),
                                      g.add("DeleteRandomSeedGenerator", {words, words.output(1)}),
                                      g.add("DeleteIterator", {iterator.handle, deleter})};
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  TestSession session(g);
  const Status first = session.run_targets(deleted);
  EXPECT_TRUE(first.ok()) << first.to_string();
  // Nothing has that name any more.
  EXPECT_EQ(session.run_targets(deleted).code(), Code::kNotFound);
}

TEST(DatasetEnds, CountedAndReducedAtOnce) {
  Graph g;
  const AttrMap one{{"output_types", kInt}, {"output_shapes", kScalar}};
  const Value count = g.add("DatasetCardinality", {batch_dataset(numbers(g, 7), 2).dataset});
  const Value endless = g.add("ExperimentalDatasetCardinality", {repeat_dataset(numbers(g, 7)).dataset});
  const Value single = g.add("DatasetToSingleElement", {skip_dataset(numbers(g, 7), 6).dataset}, one);
  AttrMap reduce = one;
  reduce.set("f",
             function(g, {DType::kInt64, DType::kInt64}, [](Values v) { return std::vector<Value>{v[0] + v[1]}; }));
  reduce.set("Tstate", kInt);
  reduce.set("Targuments", std::vector<DType>{});
  const Value sum = g.add("ReduceDataset", {prefetch_dataset(numbers(g, 7)).dataset, number(g, 100)}, reduce);
  const Value many = g.add("DatasetToSingleElement", {numbers(g, 7).dataset}, one);
  const Value none = g.add("DatasetToSingleElement", {numbers(g, 0).dataset}, one);
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  TestSession session(g);
  const auto out = session.run({count, endless, single, sum});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  std::string text;
  for (const Tensor& t : *out) text += values_of(t) + " ";
  EXPECT_EQ(text, "4 -1 6 121 ");
  EXPECT_EQ(session.run({many}).status().message(), "Dataset had more than one element.");
  EXPECT_EQ(session.run({none}).status().message(), "Dataset was empty.");
}

TEST(DatasetEnds, FillTables) {
  const auto filled = [](const std::vector<std::int64_t>& keys, std::vector<std::int64_t> values) {
    Graph g;
    const Value table = hash_table(g, {.key = DType::kInt64, .value = DType::kInt64});
    const Value rows =
        tensor_slice_dataset({constant(g, Tensor::vector(keys)), constant(g, Tensor::vector(values))}).dataset;
    const Value fill = g.add("InitializeTableFromDataset", {table, rows}).control();
    const Value found =
        table_find(table, constant(g, Tensor::vector<std::int64_t>({1, 2, 9})), constant(g, std::int64_t{-1}));
    EXPECT_TRUE(g.status().ok()) << g.status().to_string();
    TestSession session(g);
    const Status ended = session.run_targets({fill});
    if (!ended.ok()) return std::string(ended.message());
    const auto out = session.run({found});
    return out.ok() ? values_of((*out)[0]) : out.status().to_string();
  };
  EXPECT_EQ(filled({1, 2}, {10, 20}), "[10 20 -1]");
  EXPECT_EQ(filled({2, 2}, {20, 20}), "[-1 20 -1]");
  EXPECT_THAT(filled({2, 2}, {20, 21}), HasSubstr("HashTable has different value for same key."));
  EXPECT_EQ(filled({}, {}), "end of iterator");
}

TEST(DatasetEnds, AssertedCardinality) {
  const auto asserted = [](std::int64_t n) {
    return elements_of([&](Graph& g) { return add("AssertCardinalityDataset", numbers(g, 3), {number(g, n)}); }, 9);
  };
  EXPECT_EQ(asserted(3).end.code(), Code::kOutOfRange);
  EXPECT_EQ(asserted(2).end.code(), Code::kFailedPrecondition);
}

TEST(DatasetEnds, RefuseWhatIsNoDataset) {
  const Elements all = elements_of([](Graph& graph) {
    return take_dataset({graph.add("OptionalNone", {}), kInt, kScalar}, 1);
  });
  EXPECT_EQ(all.end.code(), Code::kInvalidArgument);
  EXPECT_THAT(all.end.to_string(), HasSubstr("Dataset"));
}

TEST(DatasetEnds, RefuseNumbersOutOfRange) {
  const auto refused = [](const std::function<InputPipeline(Graph&)>& make) {
    const Status status = elements_of(make).end;
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.to_string();
    return status.message();
  };
  EXPECT_EQ(refused([](Graph& g) { return shuffle_dataset(numbers(g, 3), 0, 1, 1); }),
            "buffer_size must be greater than zero or UNKNOWN_CARDINALITY");
  EXPECT_EQ(refused([](Graph& g) {
              return add("ShardDataset", numbers(g, 3), {number(g, 0), number(g, 0)});
            }),
            "Number of shards must be greater than zero (currently num_shards = 0).");
  EXPECT_THAT(refused([](Graph& g) {
                return add("ParallelBatchDataset", numbers(g, 3), {number(g, 2), number(g, 1), constant(g, false)},
                           {{"deterministic", "maybe"}}, kInt, {PartialShape{PartialShape::kUnknown}});
              }),
              HasSubstr("Unrecognized determinism policy: maybe"));
  EXPECT_EQ(refused([](Graph& g) {
              return add("ModelDataset", numbers(g, 3), {}, {{"cpu_budget", -1}});
            }),
            "CPU budget must be positive but is -1.");
  EXPECT_EQ(refused([](Graph& g) {
              return map_dataset(
                  numbers(g, 3), [](Values v) -> std::vector<Value> { return v; }, -3);
            }),
            "num_parallel_calls must be greater than zero.");
  EXPECT_EQ(refused([](Graph& g) { return prefetch_dataset(numbers(g, 3), -5); }).substr(0, 11), "buffer_size");
}

}  // namespace
}  // namespace argosy::dataset_ops
