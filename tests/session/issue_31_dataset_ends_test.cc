// Issue 31: a dataset whose op says wrongly what its elements are was read beyond their end. One that passes over
// elements for ever did not see that its step was over.
#include <gtest/gtest.h>

#include "argosy/ops/constant/constant.h"
#include "tests/session/pipeline_test.h"

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

// A cache of elements whose number of components its node says wrongly ended the process: types are what they are said
// to be, or the dataset is refused.
TEST(DatasetTypes, ElementsHaveTheTypesThatTheirOpSays) {
  struct Row {
    const char* op;
    std::function<std::vector<Value>(Graph&)> more;
    AttrMap attrs = {};
  };
  const auto text = [](Graph& g, const char* s) { return constant(g, Tensor::scalar(s)); };
  const auto yes = [](Graph& g) { return constant(g, true); };
  const std::vector<Row> rows = {{"CacheDataset", [&](Graph& g) { return std::vector{text(g, "")}; }},
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
  for (const Row& row : rows) {
    for (const std::vector<DType>& types : {std::vector<DType>{DType::kInt64, DType::kInt64}, {DType::kFloat32}}) {
      const Elements all = elements_of([&](Graph& g) {
        return apply(row.op, numbers(g, 3), row.more(g), row.attrs, types, std::vector<PartialShape>(types.size()));
      });
      EXPECT_EQ(all.end.code(), Code::kInvalidArgument) << row.op << ": " << all.end.to_string();
    }
  }
}

// Nobody came back from passing over 2^63 elements: what gives them sees that its step is over.
TEST(DatasetEnds, PassOverElementsUntilTheStepEnds) {
  const auto ends = [](const std::function<InputPipeline(Graph&)>& make) {
    Graph graph;
    const InputPipeline skipped = make(graph);
    const Value one = graph.add("DatasetToSingleElement", {skipped.dataset},
                                {{"output_types", skipped.types}, {"output_shapes", skipped.shapes}});
    Session session(graph);
    const auto out = session.run({}, {one}, {}, {.timeout = std::chrono::milliseconds(50)});
    EXPECT_EQ(out.status().code(), Code::kDeadlineExceeded) << out.status().to_string();
  };
  ends([](Graph& g) { return skip_dataset(numbers(g, INT64_MAX), INT64_MAX - 1); });
  ends([](Graph& g) { return skip_dataset(repeat_dataset(tensor_dataset({number(g, 1)}), -1), INT64_MAX); });
  ends([](Graph& g) {
    return filter_dataset(numbers(g, INT64_MAX), [](Values v) { return constant(v[0].graph(), false); });
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

}  // namespace
}  // namespace argosy
