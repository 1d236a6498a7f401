// Ops of the family dataset that argosy/ops/dataset/dataset.h has no builder for, and the older names of some.
#include <gmock/gmock.h>

#include <set>

#include "argosy/base/system/test_files.h"
#include "argosy/graph/function_body.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/state/state.h"
#include "argosy/ops/table/table.h"
#include "tests/session/pipeline_test.h"
#include "tests/session/support/test_session.h"

namespace argosy {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Values = const std::vector<Value>&;

const std::vector<DType> kInt = {DType::kInt64};
const std::vector<PartialShape> kScalar = {PartialShape::scalar()};

InputPipeline numbers(Graph& g, std::int64_t n) { return range_dataset(g, 0, n); }
Value number(Graph& g, std::int64_t n) { return constant(g, n); }
Value numbers_like(Value v, std::int64_t n) { return constant(v.graph(), n); }

Value modulo(Value v, std::int64_t n) { return v.graph().add("FloorMod", {v, numbers_like(v, n)}); }

// The op on a dataset and more inputs.
InputPipeline add(std::string_view op, const InputPipeline& input, std::vector<Value> more, AttrMap attrs = {},
                  std::vector<DType> types = kInt, std::vector<PartialShape> shapes = kScalar) {
  std::vector<Value> inputs = {input.dataset};
  inputs.insert(inputs.end(), more.begin(), more.end());
  attrs.set("output_types", types);
  attrs.set("output_shapes", shapes);
  return {input.dataset.graph().add(op, inputs, attrs), types, shapes};
}

// The name of a function that `f` writes.
FunctionRef function(Graph& g, const std::vector<DType>& parameters,
                     const std::function<std::vector<Value>(Values)>& f) {
  FunctionBody body(g, "f");
  std::vector<Value> values;
  for (const DType d : parameters) values.push_back(body.parameter(d, PartialShape::scalar()));
  const auto made = body.finish(f(values));
  return {made == nullptr ? "" : made->name};
}
FunctionRef unary(Graph& g, const std::function<Value(Value)>& f) {
  return function(g, kInt, [&](Values v) -> std::vector<Value> { return {f(v[0])}; });
}
FunctionRef repeats(Graph& g) {  // n, n
  return unary(g, [](Value v) { return repeat_dataset(tensor_dataset({v}), 2).dataset; });
}

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

TEST(DatasetOps, Sources) {
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

TEST(DatasetOps, Files) {
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

TEST(DatasetOps, SharedCaches) {
  for (const char* cache : {"AnonymousMemoryCache", "DummyMemoryCache"}) {
    EXPECT_THAT(all_of([&](Graph& g) {
                  return repeat_dataset(add("CacheDatasetV2", numbers(g, 2), {constant(g, ""), g.add(cache, {})}), 2);
                }),
                ElementsAre("0", "1", "0", "1"));
  }
}

TEST(DatasetOps, HandlesAreLetGo) {
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

TEST(DatasetOps, CountedAndReducedAtOnce) {
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

TEST(DatasetOps, FillTables) {
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

TEST(DatasetOps, AssertedCardinality) {
  const auto asserted = [](std::int64_t n) {
    return elements_of([&](Graph& g) { return add("AssertCardinalityDataset", numbers(g, 3), {number(g, n)}); }, 9);
  };
  EXPECT_EQ(asserted(3).end.code(), Code::kOutOfRange);
  EXPECT_EQ(asserted(2).end.code(), Code::kFailedPrecondition);
}

TEST(DatasetOps, RefuseWhatIsNoDataset) {
  const Elements all = elements_of([](Graph& graph) {
    return take_dataset({graph.add("OptionalNone", {}), kInt, kScalar}, 1);
  });
  EXPECT_EQ(all.end.code(), Code::kInvalidArgument);
  EXPECT_THAT(all.end.to_string(), HasSubstr("Dataset"));
}

TEST(DatasetOps, RefuseNumbersOutOfRange) {
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
}  // namespace argosy
