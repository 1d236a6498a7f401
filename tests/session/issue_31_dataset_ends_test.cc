// Issue 31: a dataset whose op says wrongly what its elements are was read beyond their end. One that passes over
// elements for ever did not see that its step was over.
#include <gtest/gtest.h>

#include "argosy/base/memory/host_budget.h"
#include "argosy/graph/function_body.h"
#include "argosy/ops/constant/constant.h"
#include "tests/session/pipeline_test.h"
#include "tests/session/support/test_session.h"

namespace argosy {
namespace {

using Values = const std::vector<Value>&;

InputPipeline numbers(Graph& g, std::int64_t n) { return range_dataset(g, 0, n); }
Value number(Graph& g, std::int64_t n) { return constant(g, n); }

// The op on a dataset and more inputs.
InputPipeline apply(std::string_view op, const InputPipeline& input, std::vector<Value> more, AttrMap attrs = {},
                    std::vector<DType> types = {DType::kInt64},
                    std::vector<PartialShape> shapes = {PartialShape::scalar()}) {
  std::vector<Value> inputs = {input.dataset};
  inputs.insert(inputs.end(), more.begin(), more.end());
  attrs.set("output_types", types);
  attrs.set("output_shapes", shapes);
  return {input.dataset.graph().add(op, inputs, attrs), types, shapes};
}

// A function of a pipeline's elements that reads one value: `make` builds it.
FunctionRef function_of(Graph& g, const std::vector<DType>& takes, const std::function<Value(Values)>& make) {
  FunctionBody body(g, "f");
  std::vector<Value> parameters;
  for (const DType d : takes) parameters.push_back(body.parameter(d, PartialShape::unknown()));
  body.finish({make(parameters)});
  return FunctionRef{body.name()};
}

// A cache of elements whose number of components its node says wrongly ended the process: types are what they are said
// to be, or the dataset is refused.
TEST(DatasetTypes, ElementsHaveTheTypesThatTheirOpSays) {
  struct TypedDataset {
    const char* op;
    std::function<std::vector<Value>(Graph&)> more;
    AttrMap attrs = {};
  };
  const auto text = [](Graph& g, const char* s) { return constant(g, Tensor::scalar(s)); };
  const auto yes = [](Graph& g) { return constant(g, true); };
  const std::vector<TypedDataset> rows = {
      {"CacheDataset", [&](Graph& g) { return std::vector{text(g, "")}; }},
      {"SkipDataset", [](Graph& g) { return std::vector{number(g, 1)}; }},
      {"RepeatDataset", [](Graph& g) { return std::vector{number(g, 2)}; }},
      {"BatchDatasetV2",
       [&](Graph& g) {
         return std::vector{number(g, 2), yes(g)};
       }},
      {"ShuffleDataset",
       [](Graph& g) {
         return std::vector{number(g, 2), number(g, 1), number(g, 1)};
       }},
      {"PrefetchDataset", [](Graph& g) { return std::vector{number(g, 2)}; }},
      {"WindowDataset",
       [&](Graph& g) {
         return std::vector{number(g, 2), number(g, 2), number(g, 1), yes(g)};
       }},
      {"UnbatchDataset", [](Graph&) { return std::vector<Value>(); }},
      {"UniqueDataset", [](Graph&) { return std::vector<Value>(); }},
      {"ConcatenateDataset", [](Graph& g) { return std::vector{numbers(g, 2).dataset}; }}};
  for (const TypedDataset& row : rows) {
    for (const std::vector<DType>& types : {std::vector<DType>{DType::kInt64, DType::kInt64}, {DType::kFloat32}}) {
      const Elements all = elements_of([&](Graph& g) {
        return apply(row.op, numbers(g, 3), row.more(g), row.attrs, types, std::vector<PartialShape>(types.size()));
      });
      EXPECT_EQ(all.end.code(), Code::kInvalidArgument) << row.op << ": " << all.end.to_string();
    }
  }
}

// The last state has fewer values than the node has outputs: what lay behind it was given out, and the process ended.
TEST(DatasetTypes, OutputsOfAReductionAreItsState) {
  const auto reduced = [](const std::vector<DType>& outputs) {
    Graph g;
    const FunctionRef f = function_of(g, {DType::kInt64, DType::kInt64}, [](Values v) { return v[1]; });
    const Value last = g.add("ReduceDataset", {numbers(g, 3).dataset, number(g, 7)},
                             {{"f", f},
                              {"Tstate", std::vector<DType>{DType::kInt64}},
                              {"Targuments", std::vector<DType>{}},
                              {"output_types", outputs},
                              {"output_shapes", std::vector<PartialShape>(outputs.size())}});
    if (!last.valid()) return g.status();
    std::vector<Value> fetches;
    for (std::size_t i = 0; i < outputs.size(); ++i) fetches.push_back(last.output(static_cast<int>(i)));
    TestSession session(g);
    return session.run(fetches).status();
  };
  EXPECT_TRUE(reduced({DType::kInt64}).ok());
  EXPECT_EQ(reduced({DType::kInt64, DType::kInt64, DType::kInt64}).code(), Code::kInvalidArgument);
  EXPECT_EQ(reduced({DType::kFloat32}).code(), Code::kInvalidArgument);
}

// Nobody came back from passing over 2^63 elements: what gives them sees that its step is over.
TEST(DatasetEnds, PassOverElementsUntilTheStepEnds) {
  const auto ends = [](const std::function<InputPipeline(Graph&)>& make) {
    Graph graph;
    const InputPipeline skipped = make(graph);
    const Value one = graph.add("DatasetToSingleElement", {skipped.dataset},
                                {{"output_types", skipped.types}, {"output_shapes", skipped.shapes}});
    TestSession session(graph);
    const auto out = session.run({}, {one}, {}, {.timeout = std::chrono::milliseconds(50)});
    EXPECT_EQ(out.status().code(), Code::kDeadlineExceeded) << out.status().to_string();
  };
  ends([](Graph& g) { return skip_dataset(numbers(g, INT64_MAX), INT64_MAX - 1); });
  ends([](Graph& g) { return skip_dataset(repeat_dataset(tensor_dataset({number(g, 1)}), -1), INT64_MAX); });
  ends([](Graph& g) {
    return filter_dataset(numbers(g, INT64_MAX), [](Values v) { return constant(v[0].graph(), false); });
  });
  // A window keeps its input's errors, that of the end as well.
  ends([](Graph& g) {
    return apply("WindowDataset", numbers(g, INT64_MAX),
                 {number(g, INT64_MAX), number(g, 1), number(g, 1), constant(g, Tensor::scalar(true))}, {},
                 {DType::kVariant});
  });
  // Epoch after epoch without an element, whose places in the buffer filled the memory.
  ends([](Graph& g) {
    const InputPipeline none = filter_dataset(numbers(g, 3), [](Values v) { return constant(v[0].graph(), false); });
    return apply("ShuffleAndRepeatDataset", none, {number(g, 4), number(g, 7), number(g, 5), number(g, INT64_MAX)});
  });
}

// An input that is known to be empty is asked once, however often it is to be repeated.
TEST(DatasetEnds, AnEmptyInputIsRepeatedInNoTime) {
  const Elements all = elements_of([](Graph& g) {
    return apply("ShuffleAndRepeatDataset", numbers(g, 0),
                 {number(g, 4), number(g, 7), number(g, 5), number(g, INT64_MAX)});
  });
  EXPECT_TRUE(all.values.empty());
  EXPECT_EQ(all.end.code(), Code::kOutOfRange) << all.end.to_string();
}

// Datasets that keep elements until there are as many as the graph says: the process had them all.
TEST(DatasetBuffers, CountInTheBudgetOfHostMemory) {
  constexpr std::int64_t kMany = std::int64_t{1} << 40;
  const auto whole = [](Graph& g) { return constant(g, Tensor::scalar(true)); };
  const auto itself = [](Values v) { return v[0]; };
  const DType i64 = DType::kInt64;
  struct Keeper {
    const char* says;
    std::function<InputPipeline(Graph&)> make;
  };
  const std::vector<Keeper> keepers = {
      {"a shuffle's buffer", [&](Graph& g) { return shuffle_dataset(numbers(g, kMany), kMany, 1, 2); }},
      {"a dataset's cache", [&](Graph& g) { return cache_dataset(numbers(g, kMany)); }},
      {"elements of windows",
       [&](Graph& g) {
         return apply("WindowDataset", numbers(g, kMany), {number(g, kMany), number(g, 1), number(g, 1), whole(g)}, {},
                      {DType::kVariant});
       }},
      {"a sliding window",
       [&](Graph& g) {
         return apply("SlidingWindowDataset", numbers(g, kMany), {number(g, INT32_MAX), number(g, 1), number(g, 1)});
       }},
      {"a padded batch",
       [&](Graph& g) {
         const Value scalar = constant(g, Tensor::zeros(DType::kInt64, {0}));
         const InputPipeline all = numbers(g, kMany);
         const std::vector<PartialShape> shapes = {PartialShape({-1})};
         return InputPipeline{g.add("PaddedBatchDataset", {all.dataset, number(g, kMany), scalar, number(g, 0)},
                                    {{"Toutput_types", std::vector<DType>{DType::kInt64}}, {"output_shapes", shapes}}),
                              {DType::kInt64},
                              shapes};
       }},
      {"a sparse batch",
       [&](Graph& g) {
         const Value row = constant(g, Tensor::zeros(DType::kInt64, {0}));
         return apply("DenseToSparseBatchDataset", numbers(g, kMany), {number(g, kMany), row}, {}, {DType::kVariant},
                      {PartialShape::unknown()});
       }},
      {"grouped by key",
       [&](Graph& g) {
         const auto key = function_of(g, {i64}, [](Values v) { return number(v[0].graph(), 0); });
         const auto size = function_of(g, {i64}, [](Values v) { return number(v[0].graph(), kMany); });
         const auto reduce = function_of(g, {i64, DType::kVariant}, [](Values v) { return v[1]; });
         const std::vector<DType> none;
         return apply("GroupByWindowDataset", numbers(g, kMany), {},
                      {{"key_func", key},
                       {"reduce_func", reduce},
                       {"window_size_func", size},
                       {"Tkey_func_other_arguments", none},
                       {"Treduce_func_other_arguments", none},
                       {"Twindow_size_func_other_arguments", none}});
       }},
      {"reduced by key",
       [&](Graph& g) {
         const auto one = function_of(g, {i64}, itself);
         const auto reduce = function_of(g, {i64, i64}, itself);
         const std::vector<DType> none;
         return apply("GroupByReducerDataset", numbers(g, kMany), {},
                      {{"key_func", one},
                       {"init_func", one},
                       {"reduce_func", reduce},
                       {"finalize_func", one},
                       {"Tkey_func_other_arguments", none},
                       {"Tinit_func_other_arguments", none},
                       {"Treduce_func_other_arguments", none},
                       {"Tfinalize_func_other_arguments", none}});
       }},
      {"that were met", [&](Graph& g) { return apply("UniqueDataset", numbers(g, kMany), {}); }},
      {"open datasets",
       [&](Graph& g) {
         return interleave_dataset(
             numbers(g, kMany), [](Values v) { return repeat_dataset(tensor_dataset({v[0]})); }, kMany, 1);
       }},
  };
  const auto limit = host_budget().with_limit(host_budget().in_use() + (2 << 20));
  for (const Keeper& keeper : keepers) {
    const std::int64_t before = host_budget().in_use();
    {
      Graph graph;
      const InputPipeline last = skip_dataset(keeper.make(graph), kMany);
      const Value one = graph.add("DatasetToSingleElement", {last.dataset},
                                  {{"output_types", last.types}, {"output_shapes", last.shapes}});
      TestSession session(graph);
      const auto out = session.run({}, {one}, {}, {.timeout = std::chrono::seconds(60)});
      EXPECT_EQ(out.status().code(), Code::kResourceExhausted) << keeper.says << ": " << out.status().to_string();
      EXPECT_EQ(out.status().id(), "ARG-MEM-004");
      EXPECT_NE(out.status().message().find(keeper.says), std::string::npos) << out.status().to_string();
    }
    EXPECT_EQ(host_budget().in_use(), before) << keeper.says << ": all of it is given back";
  }
}

// Whoever reads ahead stops where there is no more room, and goes on when some was taken.
TEST(DatasetBuffers, PrefetchStaysWithinTheBudget) {
  const std::int64_t most = host_budget().in_use() + (1 << 20);
  const auto limit = host_budget().with_limit(most);
  Graph graph;
  const IteratorValue iterator =
      initializable_iterator(prefetch_dataset(range_dataset(graph, 0, 20'000), std::int64_t{1} << 40));
  TestSession session(graph);
  const Elements all = run_to_end(session, iterator, 30'000);
  EXPECT_EQ(all.end.code(), Code::kOutOfRange) << all.end.to_string();
  EXPECT_EQ(all.values.size(), 20'000u);
  EXPECT_EQ(all.values.back(), "19999");
  EXPECT_LE(host_budget().in_use(), most);
}

// Too many for an integer is unknown, not some other number.
TEST(DatasetCardinality, BeyondAnInteger) {
  const auto count = [](const std::function<InputPipeline(Graph&)>& make) {
    Graph graph;
    const Value n = graph.add("DatasetCardinality", {make(graph).dataset});
    TestSession session(graph);
    const auto out = session.run({n});
    EXPECT_TRUE(out.ok()) << out.status().to_string();
    return out.ok() ? *(*out)[0].data<std::int64_t>() : 0;
  };
  constexpr std::int64_t kUnknown = -2;
  EXPECT_EQ(count([](Graph& g) { return repeat_dataset(numbers(g, 3), INT64_MAX); }), kUnknown);
  EXPECT_EQ(count([](Graph& g) { return repeat_dataset(numbers(g, 3), 5); }), 15);
  EXPECT_EQ(count([](Graph& g) { return concatenate_dataset(numbers(g, INT64_MAX), numbers(g, 1)); }), kUnknown);
  EXPECT_EQ(count([](Graph& g) {
              return apply("ShuffleAndRepeatDataset", numbers(g, 3),
                           {number(g, 4), number(g, 7), number(g, 5), number(g, INT64_MAX)});
            }),
            kUnknown);
}

}  // namespace
}  // namespace argosy
