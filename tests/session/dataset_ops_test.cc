// Ops of the family dataset that argosy/ops/dataset/dataset.h has no builder for, and the older names of some.
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

TEST(DatasetOps, RefusesOptionsAndShapesThatAreNone) {
  Graph g;
  const auto batch_size = [&](Value dataset) { return g.add("ComputeBatchSize", {dataset}); };
  const Value options =
      batch_size(add("OptionsDataset", numbers(g, 3), {}, {{"serialized_options", std::string("opts")}}).dataset);
  const Value rows = constant(g, Tensor::vector<std::int64_t>({1, 2, 3}));
  const auto shaped = [&](const char* op, PartialShape shape) {
    return batch_size(
        g.add(op, {rows}, {{"Toutput_types", kInt}, {"output_shapes", std::vector<PartialShape>{std::move(shape)}}}));
  };
  const Value whole = shaped("TensorDataset", {2}), row = shaped("TensorSliceDataset", {3});
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  TestSession session(g);
  EXPECT_THAT(session.run({options}).status().message(), HasSubstr("Could not parse serialized_options"));
  EXPECT_THAT(session.run({whole}).status().message(), HasSubstr("Incompatible shapes at component 0"));
  EXPECT_THAT(session.run({row}).status().message(), HasSubstr("Incompatible shapes at component 0"));
}

TEST(DatasetOps, HintsChangeNothing) {
  std::set<std::string> tried;
  const auto same = [&](const char* op, const std::function<std::vector<Value>(Graph&)>& more) {
    SCOPED_TRACE(op);
    tried.insert(op);
    EXPECT_THAT(all_of([&](Graph& g) {
                  AttrMap attrs;
                  if (std::string_view(op) == "OptionsDataset") attrs.set("serialized_options", std::string());
                  return add(op, numbers(g, 3), more(g), attrs);
                }),
                ElementsAre("0", "1", "2"));
  };
  const auto none = [](Graph&) { return std::vector<Value>{}; };
  const auto one = [](Graph& g) { return std::vector<Value>{number(g, 1)}; };
  const auto two = [](Graph& g) { return std::vector<Value>{number(g, 1), number(g, 0)}; };
  const auto text = [](Graph& g) { return std::vector<Value>{constant(g, "text")}; };
  const auto texts = [](Graph& g) { return std::vector<Value>{constant(g, Tensor::vector<std::string>({"a", "b"}))}; };
  const auto lists = [&](Graph& g) { return std::vector<Value>{texts(g)[0], texts(g)[0], texts(g)[0]}; };
  for (const char* op : {"OptionsDataset", "ModelDataset", "NonSerializableDataset",
                         "ExperimentalNonSerializableDataset", "FinalizeDataset"}) {
    same(op, none);
  }
  for (const char* op : {"MaxIntraOpParallelismDataset", "ExperimentalMaxIntraOpParallelismDataset",
                         "PrivateThreadPoolDataset", "ExperimentalPrivateThreadPoolDataset"}) {
    same(op, one);
  }
  for (const char* op : {"AutoShardDataset", "ExperimentalAutoShardDataset"}) same(op, two);
  for (const char* op : {"BytesProducedStatsDataset", "ExperimentalBytesProducedStatsDataset", "LatencyStatsDataset",
                         "ExperimentalLatencyStatsDataset", "RewriteDataset"}) {
    same(op, text);
  }
  for (const char* op :
       {"OptimizeDataset", "AssertNextDataset", "ExperimentalAssertNextDataset", "AssertPrevDataset"}) {
    same(op, texts);
  }
  same("OptimizeDatasetV2", lists);
  for (const std::string prefix : {"", "Experimental"}) {
    const auto pool = [&](Graph& g) {
      return std::vector<Value>{
          g.add(prefix + "ThreadPoolHandle", {}, {{"num_threads", 2}, {"display_name", std::string("input")}})};
    };
    same((prefix + "ThreadPoolDataset").c_str(), pool);
  }
  EXPECT_EQ(tried.size(), 23u);
}

TEST(DatasetOps, ShardsAmongWorkers) {
  enum : std::int64_t { kOff = -1, kAuto, kFile, kData, kHint };
  for (const char* op : {"AutoShardDataset", "ExperimentalAutoShardDataset"}) {
    const auto sharded = [op](std::int64_t policy, std::int64_t workers, std::int64_t index, bool hinted = false) {
      return elements_of([=](Graph& g) {
        InputPipeline input = numbers(g, 8);
        if (hinted) input = add("ShardDataset", input, {number(g, -1), number(g, -1)});
        return add(op, input, {number(g, workers), number(g, index)}, {{"auto_shard_policy", policy}});
      });
    };
    EXPECT_THAT(sharded(kAuto, 3, 1).values, ElementsAre("1", "4", "7"));
    EXPECT_THAT(sharded(kData, 3, 2).values, ElementsAre("2", "5"));
    EXPECT_THAT(sharded(kOff, 3, 2).values.size(), 8u);
    EXPECT_THAT(sharded(kHint, 3, 2).values.size(), 8u);
    EXPECT_THAT(sharded(kHint, 3, 2, true).values, ElementsAre("2", "5"));
    EXPECT_EQ(sharded(kAuto, 3, 2, true).end.code(), Code::kFailedPrecondition);
    EXPECT_EQ(sharded(kFile, 3, 2).end.code(), Code::kNotFound);
    EXPECT_EQ(sharded(kAuto, 0, 0).end.code(), Code::kInvalidArgument);
    EXPECT_EQ(sharded(kAuto, 2, 2).end.code(), Code::kInvalidArgument);
    EXPECT_EQ(sharded(7, 2, 1).end.code(), Code::kInvalidArgument);
  }
}

TEST(DatasetOps, EveryShardHasAnElement) {
  const auto shard = [](std::int64_t elements, std::int64_t index) {
    return elements_of([=](Graph& g) {
      return add("ShardDataset", numbers(g, elements), {number(g, 3), number(g, index)}, {{"require_non_empty", true}});
    });
  };
  EXPECT_THAT(shard(4, 0).values, ElementsAre("0", "3"));
  EXPECT_THAT(shard(3, 1).values, ElementsAre("1"));
  EXPECT_EQ(shard(2, 0).end.code(), Code::kInvalidArgument);
  EXPECT_EQ(shard(2, 1).end.code(), Code::kInvalidArgument);
  EXPECT_EQ(shard(2, 2).end.code(), Code::kOutOfRange);  // as in TensorFlow: that the others have none is theirs to say
}

TEST(DatasetOps, ElementsOneByOne) {
  for (const char* op : {"FilterDataset", "ParallelFilterDataset"}) {
    EXPECT_THAT(all_of([&](Graph& g) {
                  const FunctionRef odd = unary(g, [](Value v) { return equal(modulo(v, 2), numbers_like(v, 1)); });
                  const std::vector<Value> more =
                      std::string_view(op) == "FilterDataset" ? std::vector<Value>{} : std::vector<Value>{number(g, 2)};
                  return add(op, numbers(g, 6), more, {{"predicate", odd}});
                }),
                ElementsAre("1", "3", "5"));
  }
  for (const char* op : {"TakeWhileDataset", "ExperimentalTakeWhileDataset"}) {
    EXPECT_THAT(all_of([&](Graph& g) {
                  const FunctionRef small = unary(g, [](Value v) { return less(v, numbers_like(v, 2)); });
                  return add(op, repeat_dataset(numbers(g, 6)), {}, {{"predicate", small}});
                }),
                ElementsAre("0", "1"));
  }
  for (const char* op : {"ScanDataset", "ExperimentalScanDataset"}) {
    EXPECT_THAT(all_of([&](Graph& g) {
                  const FunctionRef sum = function(g, {DType::kInt64, DType::kInt64}, [](Values v) {
                    return std::vector<Value>{v[0] + v[1], v[0]};
                  });
                  return add(op, numbers(g, 5), {number(g, 10)},
                             {{"f", sum}, {"Tstate", kInt}, {"Targuments", std::vector<DType>{}}});
                }),
                ElementsAre("10", "10", "11", "13", "16"));
  }
  EXPECT_THAT(all_of([](Graph& g) {
                const InputPipeline pairs = map_dataset(numbers(g, 5), [](Values v) -> std::vector<Value> {
                  return {v[0], less(v[0], numbers_like(v[0], 2))};
                });
                const Value d = g.add("FilterByLastComponentDataset", {pairs.dataset},
                                      {{"output_types", kInt}, {"output_shapes", kScalar}});
                return InputPipeline{d, kInt, kScalar};
              }),
              ElementsAre("0", "1"));
  EXPECT_THAT(
      all_of([](Graph& g) {
        return add("ExperimentalMapDataset", numbers(g, 3), {}, {{"f", unary(g, [](Value v) { return v * v; })}});
      }),
      ElementsAre("0", "1", "4"));
  EXPECT_THAT(all_of([](Graph& g) {
                return add("ParallelMapDataset", numbers(g, 3), {constant(g, 2)},
                           {{"f", unary(g, [](Value v) { return v * v; })}});
              }),
              ElementsAre("0", "1", "4"));
  for (const char* op : {"UniqueDataset", "ExperimentalUniqueDataset"}) {
    EXPECT_THAT(all_of([&](Graph& g) { return add(op, repeat_dataset(numbers(g, 3), 2), {}); }),
                ElementsAre("0", "1", "2"));
  }
  for (const char* op : {"IgnoreErrorsDataset", "ExperimentalIgnoreErrorsDataset"}) {
    EXPECT_THAT(all_of([&](Graph& g) {
                  const auto f = [](Values v) -> std::vector<Value> {
                    return {v[0].graph().add("FloorDiv", {numbers_like(v[0], 6), v[0] - 1})};
                  };
                  return add(op, map_dataset(numbers(g, 4), f), {});
                }),
                ElementsAre("-6", "6", "3"));
  }
}

// A variable that counts to 2 and is then out of range.
TEST(DatasetOps, FunctionsMayEndTheSequence) {
  for (const bool generator : {false, true}) {
    Graph graph;
    const VariableNode v = variable(graph, Tensor::scalar(std::int64_t{0}), "v", {.kind = VariableKind::kResource});
    InputPipeline elements;
    if (generator) {
      FunctionBody init(graph, "init");
      const auto init_f = init.finish({constant(init.graph(), std::int64_t{5})});
      FunctionBody next(graph, "next");
      const Value state = next.parameter(DType::kInt64, PartialShape::scalar());
      const auto next_f = next.finish({state + count_up_to(v, 2)});
      const FunctionRef finalize = unary(graph, [](Value x) { return x; });
      const std::vector<DType> captured(next.captures().size(), DType::kResource);
      const Value d = graph.add("GeneratorDataset", next.captures(),
                                {{"init_func", FunctionRef{init_f->name}},
                                 {"next_func", FunctionRef{next_f->name}},
                                 {"finalize_func", finalize},
                                 {"Tinit_func_args", std::vector<DType>{}},
                                 {"Tnext_func_args", captured},
                                 {"Tfinalize_func_args", std::vector<DType>{}},
                                 {"output_types", kInt},
                                 {"output_shapes", kScalar}});
      elements = {d, kInt, kScalar};
    } else {
      elements = map_dataset(numbers(graph, 9), [&](Values) -> std::vector<Value> { return {count_up_to(v, 2) + 5}; });
    }
    const IteratorValue iterator = initializable_iterator(elements);
    ASSERT_TRUE(graph.status().ok()) << graph.status().to_string();
    TestSession session(graph);
    ASSERT_TRUE(session.run_targets({v.initializer}).ok());
    const Elements all = run_to_end(session, iterator);
    EXPECT_THAT(all.values, ElementsAre("5", "6"));
    EXPECT_EQ(all.end.message(), "End of sequence") << all.end.to_string();
  }
}

TEST(DatasetOps, Batches) {
  EXPECT_THAT(all_of([](Graph& g) { return add("BatchDataset", numbers(g, 3), {number(g, 2)}, {}, kInt, {{-1}}); }),
              ElementsAre("[0 1]", "[2]"));
  EXPECT_THAT(all_of([](Graph& g) {
                return add("ParallelBatchDataset", numbers(g, 3), {number(g, 2), number(g, 2), constant(g, true)}, {},
                           kInt, {{-1}});
              }),
              ElementsAre("[0 1]"));
  for (const char* op : {"MapAndBatchDataset", "ExperimentalMapAndBatchDataset"}) {
    EXPECT_THAT(all_of([&](Graph& g) {
                  return add(op, numbers(g, 5), {number(g, 2), number(g, 3), constant(g, false)},
                             {{"f", unary(g, [](Value v) { return v * v; })}}, kInt, {{-1}});
                }),
                ElementsAre("[0 1]", "[4 9]", "[16]"));
  }
  for (const char* op : {"UnbatchDataset", "ExperimentalUnbatchDataset"}) {
    EXPECT_THAT(all_of([&](Graph& g) { return add(op, batch_dataset(numbers(g, 3), 2), {}); }),
                ElementsAre("0", "1", "2"));
  }
  EXPECT_THAT(all_of([](Graph& g) {
                const InputPipeline pairs = batch_dataset(numbers(g, 5), 2);
                const Value d =
                    g.add("PaddedBatchDatasetV2",
                          {pairs.dataset, number(g, 2), constant(g, Tensor::vector<std::int64_t>({3})), number(g, 9),
                           constant(g, true)},
                          {{"N", 1}, {"Toutput_types", kInt}, {"output_shapes", std::vector<PartialShape>{{-1, 3}}}});
                return InputPipeline{d, kInt, {PartialShape{-1, 3}}};
              }),
              ElementsAre("[0 1 9 2 3 9]"));
}

// Orders of TensorFlow 2.21 for these seeds.
TEST(DatasetOps, Shuffles) {
  const auto joined = [](const std::function<InputPipeline(Graph&)>& make) {
    return all_of([&](Graph& g) { return batch_dataset(make(g), 100); }).at(0);
  };
  const auto shuffle_and_repeat = [&](std::int64_t n, std::int64_t buffer, std::int64_t count, bool anew) {
    return joined([&](Graph& g) {
      return add("ShuffleAndRepeatDataset", numbers(g, n),
                 {number(g, buffer), number(g, 7), number(g, 5), number(g, count)},
                 {{"reshuffle_each_iteration", anew}});
    });
  };
  EXPECT_EQ(shuffle_and_repeat(5, 3, 2, true), "[1 0 3 4 2 2 0 4 3 1]");
  EXPECT_EQ(shuffle_and_repeat(3, 10, 5, true), "[1 0 2 2 0 1 0 2 1 1 2 0 0 2 1]");
  EXPECT_EQ(shuffle_and_repeat(5, 3, 2, false), "[2 1 3 4 0 2 1 3 4 0]");
  const std::string twice = "[4 7 3 2 0 1 5 6 7 0 4 2 5 3 1 6]";
  EXPECT_EQ(joined([](Graph& g) {
              return repeat_dataset(add("ShuffleDatasetV3", numbers(g, 8),
                                        {number(g, 8), number(g, 7), number(g, 5), g.add("DummySeedGenerator", {})}),
                                    2);
            }),
            twice);
  EXPECT_EQ(joined([](Graph& g) {
              const Value seeds = g.add("AnonymousSeedGenerator", {number(g, 7), number(g, 5), constant(g, true)});
              return repeat_dataset(add("ShuffleDatasetV2", numbers(g, 8), {number(g, 8), seeds}), 2);
            }),
            twice);
  EXPECT_EQ(joined([](Graph& g) {
              const Value seeds = g.add("AnonymousRandomSeedGenerator", {number(g, 7), number(g, 5)});
              return add("ShuffleAndRepeatDatasetV2", numbers(g, 5),
                         {number(g, 3), number(g, 1), number(g, 2), number(g, 2), seeds});
            }),
            "[1 0 3 4 2 2 0 4 3 1]");
}

// A client of 1.15 asks for them by its optimizer's rewrite; orders of that TensorFlow.
TEST(DatasetOps, ShufflesRepeatedAs115Does) {
  const auto joined = [](std::string_view rewrite, const std::function<InputPipeline(Graph&)>& make) {
    return all_of([&](Graph& g) {
             const Value names = constant(g, Tensor::of<std::string>({1}, {std::string(rewrite)}));
             return batch_dataset(add("OptimizeDataset", make(g), {names}), 100);
           })
        .at(0);
  };
  const auto shuffle = [](Graph& g, bool anew) {
    return add("ShuffleDataset", numbers(g, 5), {number(g, 3), number(g, 7), number(g, 5)},
               {{"reshuffle_each_iteration", anew}});
  };
  const char* const fusion = "shuffle_and_repeat_fusion";
  EXPECT_EQ(joined(fusion, [&](Graph& g) { return repeat_dataset(shuffle(g, true), 2); }), "[2 1 3 4 0 2 3 0 1 4]");
  EXPECT_EQ(joined(fusion,
                   [](Graph& g) {
                     return add("ShuffleAndRepeatDataset", numbers(g, 5),
                                {number(g, 3), number(g, 7), number(g, 5), number(g, 2)});
                   }),
            "[2 1 3 4 0 2 3 0 1 4]");
  EXPECT_EQ(joined(fusion, [&](Graph& g) { return repeat_dataset(shuffle(g, false), 2); }), "[2 1 3 4 0 2 1 3 4 0]");
  EXPECT_EQ(joined("noop_elimination", [&](Graph& g) { return repeat_dataset(shuffle(g, true), 2); }),
            "[1 0 3 4 2 2 0 4 3 1]");
}

TEST(DatasetOps, Interleaves) {
  const std::vector<std::string> expected = {"0", "1", "0", "1", "2", "3", "2", "3"};
  const auto interleaved = [](const char* op, std::vector<std::int64_t> more, bool sloppy_input) {
    return all_of([&](Graph& g) {
      std::vector<Value> inputs = {number(g, 2), number(g, 1)};
      if (sloppy_input) inputs.push_back(constant(g, false));
      for (const std::int64_t n : more) inputs.push_back(number(g, n));
      return add(op, numbers(g, 4), inputs, {{"f", repeats(g)}});
    });
  };
  EXPECT_EQ(interleaved("ParallelInterleaveDataset", {2, 1}, true), expected);
  EXPECT_EQ(interleaved("ExperimentalParallelInterleaveDataset", {2, 0}, true), expected);
  EXPECT_EQ(interleaved("LegacyParallelInterleaveDatasetV2", {2, 1}, false), expected);
  EXPECT_EQ(interleaved("ParallelInterleaveDatasetV2", {2}, false), expected);
  EXPECT_EQ(interleaved("ParallelInterleaveDatasetV4", {2, 1, 2}, false), expected);
  for (const char* op : {"DirectedInterleaveDataset", "ExperimentalDirectedInterleaveDataset"}) {
    EXPECT_THAT(all_of([&](Graph& g) {
                  const InputPipeline selector =
                      map_dataset(numbers(g, 6), [](Values v) -> std::vector<Value> { return {modulo(v[0], 2)}; });
                  return add(op, selector, {numbers(g, 1).dataset, range_dataset(g, 7, 9).dataset}, {{"N", 2}});
                }),
                ElementsAre("0", "7", "8"));
  }
}

TEST(DatasetOps, Groups) {
  for (const char* op : {"GroupByWindowDataset", "ExperimentalGroupByWindowDataset"}) {
    EXPECT_THAT(
        all_of([&](Graph& g) {
          const AttrMap attrs{
              {"key_func", unary(g, [](Value v) { return modulo(v, 2); })},
              {"window_size_func", unary(g, [](Value v) { return v + 2; })},
              {"reduce_func", function(g, {DType::kInt64, DType::kVariant},
                                       [](Values v) {
                                         return std::vector<Value>{batch_dataset({v[1], kInt, kScalar}, 10).dataset};
                                       })},
              {"Tkey_func_other_arguments", std::vector<DType>{}},
              {"Treduce_func_other_arguments", std::vector<DType>{}},
              {"Twindow_size_func_other_arguments", std::vector<DType>{}}};
          return add(op, numbers(g, 9), {}, attrs, kInt, {{-1}});
        }),
        ElementsAre("[0 2]", "[1 3 5]", "[4 6]", "[8]", "[7]"));
  }
  for (const char* op : {"GroupByReducerDataset", "ExperimentalGroupByReducerDataset"}) {
    EXPECT_THAT(all_of([&](Graph& g) {
                  const AttrMap attrs{
                      {"key_func", unary(g, [](Value v) { return modulo(v, 3); })},
                      {"init_func", unary(g, [](Value v) { return v * 100; })},
                      {"reduce_func", function(g, {DType::kInt64, DType::kInt64},
                                               [](Values v) { return std::vector<Value>{v[0] + v[1]}; })},
                      {"finalize_func", unary(g, [](Value v) { return v * 10; })},
                      {"Tkey_func_other_arguments", std::vector<DType>{}},
                      {"Tinit_func_other_arguments", std::vector<DType>{}},
                      {"Treduce_func_other_arguments", std::vector<DType>{}},
                      {"Tfinalize_func_other_arguments", std::vector<DType>{}}};
                  return add(op, numbers(g, 6), {}, attrs);
                }),
                ElementsAre("30", "1050", "2070"));
  }
}

}  // namespace
}  // namespace argosy::dataset_ops
