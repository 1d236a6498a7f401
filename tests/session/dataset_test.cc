#include "argosy/ops/dataset/dataset.h"

#include <gmock/gmock.h>

#include "argosy/base/system/test_files.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/state/state.h"
#include "tests/session/pipeline_test.h"
#include "tests/session/support/test_session.h"

namespace argosy {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;
using Values = const std::vector<Value>&;

InputPipeline numbers(Graph& g, std::int64_t n) { return range_dataset(g, 0, n); }

std::vector<Value> twice(Values v) { return {v[0] + v[0]}; }

// Any op of the family, on constants: (inputs after the first dataset).
InputPipeline add(const char* op, const InputPipeline& input, std::vector<Value> more, AttrMap attrs = {},
                  std::vector<DType> types = {}, std::vector<PartialShape> shapes = {}) {
  if (types.empty()) types = input.types;
  if (shapes.empty()) shapes = input.shapes;
  std::vector<Value> inputs = {input.dataset};
  inputs.insert(inputs.end(), more.begin(), more.end());
  attrs.set("output_types", types);
  attrs.set("output_shapes", shapes);
  return {input.dataset.graph().add(op, inputs, attrs), types, shapes};
}
Value number(Graph& g, std::int64_t n) { return constant(g, n); }

TEST(Datasets, OfTensors) {
  EXPECT_THAT(all_of([](Graph& g) {
                return tensor_dataset({constant(g, Tensor::vector<float>({1, 2})), number(g, 3)});
              }),
              ElementsAre("[1 2] 3"));
  EXPECT_THAT(all_of([](Graph& g) {
                return tensor_slice_dataset({constant(g, Tensor::of<float>({2, 2}, {1, 2, 3, 4})),
                                             constant(g, Tensor::vector<std::string>({"a", "b"}))});
              }),
              ElementsAre("[1 2] \"a\"", "[3 4] \"b\""));
}

TEST(Datasets, OfNumbers) {
  EXPECT_THAT(all_of([](Graph& g) { return range_dataset(g, 3, 10, 3); }), ElementsAre("3", "6", "9"));
  EXPECT_THAT(all_of([](Graph& g) { return range_dataset(g, 3, -2, -2); }), ElementsAre("3", "1", "-1"));
  EXPECT_THAT(all_of([](Graph& g) { return range_dataset(g, 3, 3); }), ElementsAre());
  const auto end = elements_of([](Graph& g) { return range_dataset(g, 0, 3, 0); }).end;
  EXPECT_EQ(end.code(), Code::kInvalidArgument);
  EXPECT_EQ(end.message(), "step must be a non-zero integer.");
}

TEST(Datasets, TakenSkippedRepeated) {
  EXPECT_THAT(all_of([](Graph& g) { return take_dataset(numbers(g, 5), 2); }), ElementsAre("0", "1"));
  EXPECT_THAT(all_of([](Graph& g) { return take_dataset(numbers(g, 2), -1); }), ElementsAre("0", "1"));
  EXPECT_THAT(all_of([](Graph& g) { return skip_dataset(numbers(g, 5), 3); }), ElementsAre("3", "4"));
  EXPECT_THAT(all_of([](Graph& g) { return skip_dataset(numbers(g, 5), -1); }), ElementsAre());
  EXPECT_THAT(all_of([](Graph& g) { return repeat_dataset(numbers(g, 2), 2); }), ElementsAre("0", "1", "0", "1"));
  EXPECT_THAT(all_of([](Graph& g) { return take_dataset(repeat_dataset(numbers(g, 2)), 3); }),
              ElementsAre("0", "1", "0"));
  EXPECT_THAT(all_of([](Graph& g) { return repeat_dataset(numbers(g, 0)); }), ElementsAre());
  EXPECT_THAT(all_of([](Graph& g) {
                return add("ShardDataset", numbers(g, 7), {number(g, 3), number(g, 1)});
              }),
              ElementsAre("1", "4"));
}

TEST(Datasets, SideBySideAndOneAfterTheOther) {
  EXPECT_THAT(all_of([](Graph& g) {
                return zip_dataset({numbers(g, 3), range_dataset(g, 7, 9)});
              }),
              ElementsAre("0 7", "1 8"));
  EXPECT_THAT(all_of([](Graph& g) { return concatenate_dataset(numbers(g, 2), range_dataset(g, 7, 9)); }),
              ElementsAre("0", "1", "7", "8"));
}

TEST(Datasets, Mapped) {
  for (const std::int64_t calls : {0, 1, 4, -1}) {
    EXPECT_THAT(all_of([&](Graph& g) { return map_dataset(numbers(g, 4), twice, calls); }),
                ElementsAre("0", "2", "4", "6"));
  }
  const auto many = all_of([](Graph& g) { return map_dataset(numbers(g, 3000), twice, 8); });
  ASSERT_EQ(many.size(), 3000u);
  for (std::size_t i = 0; i < many.size(); ++i) ASSERT_EQ(many[i], std::to_string(2 * i));
}

TEST(Datasets, MappedWithWhatTheFunctionCaptures) {
  Graph graph;
  const VariableNode v = variable(graph, Tensor::scalar(std::int64_t{10}), "v", {.kind = VariableKind::kResource});
  const auto f = [&](Values e) -> std::vector<Value> { return {e[0] + read_value(v)}; };
  const IteratorValue iterator = initializable_iterator(map_dataset(numbers(graph, 3), f));
  TestSession session(graph);
  ASSERT_TRUE(session.run_targets({v.initializer}).ok());
  const Elements all = run_to_end(session, iterator);
  EXPECT_THAT(all.values, ElementsAre("10", "11", "12")) << all.end.to_string();
}

TEST(Datasets, ErrorsOfFunctionsNameTheirNodeAndPassOneElement) {
  for (const std::int64_t calls : {0, 3}) {
    Graph graph;
    const auto f = [](Values e) -> std::vector<Value> {
      Graph& g = e[0].graph();
      return {g.add("FloorDiv", {constant(g, std::int64_t{12}), e[0]}, {}, "divide")};
    };
    const IteratorValue iterator = initializable_iterator(map_dataset(numbers(graph, 3), f, calls));
    TestSession session(graph);
    ASSERT_TRUE(session.run_targets({iterator.initializer}).ok());
    const auto failed = session.run(iterator.next);
    EXPECT_EQ(failed.status().code(), Code::kInvalidArgument);
    EXPECT_THAT(failed.status().to_string(), HasSubstr("divide"));
    EXPECT_EQ(values_of((*session.run(iterator.next))[0]), "12");
    EXPECT_EQ(values_of((*session.run(iterator.next))[0]), "6");
    EXPECT_EQ(session.run(iterator.next).status().code(), Code::kOutOfRange);
    EXPECT_EQ(session.run(iterator.next).status().code(), Code::kOutOfRange);
  }
}

TEST(Datasets, Filtered) {
  const auto small = [](Values e) { return less(e[0], constant(e[0].graph(), std::int64_t{2})); };
  EXPECT_THAT(all_of([&](Graph& g) { return filter_dataset(repeat_dataset(numbers(g, 4), 2), small); }),
              ElementsAre("0", "1", "0", "1"));
}

TEST(Datasets, Batched) {
  EXPECT_THAT(all_of([](Graph& g) { return batch_dataset(numbers(g, 5), 2); }), ElementsAre("[0 1]", "[2 3]", "[4]"));
  EXPECT_THAT(all_of([](Graph& g) { return batch_dataset(numbers(g, 5), 2, true); }), ElementsAre("[0 1]", "[2 3]"));
  EXPECT_THAT(all_of([](Graph& g) { return batch_dataset(numbers(g, 5), std::int64_t{1} << 40); }),
              ElementsAre("[0 1 2 3 4]"));
  EXPECT_EQ(all_of([](Graph& g) { return batch_dataset(numbers(g, 9000), 9000); })[0].size(), 43891u);
  EXPECT_THAT(
      all_of([](Graph& g) {
        return batch_dataset(tensor_slice_dataset({constant(g, Tensor::vector<std::string>({"a", "bc", "d"}))}), 2);
      }),
      ElementsAre("[\"a\" \"bc\"]", "[\"d\"]"));
  EXPECT_THAT(all_of([](Graph& g) {
                return add("UnbatchDataset", batch_dataset(numbers(g, 5), 2), {}, {}, {}, {PartialShape::scalar()});
              }),
              ElementsAre("0", "1", "2", "3", "4"));
  const auto end = elements_of([](Graph& g) { return batch_dataset(numbers(g, 5), 0); }).end;
  EXPECT_EQ(end.message(), "Batch size must be greater than zero.");
}

// A vector of n times n.
std::vector<Value> row(Values e) {
  Graph& g = e[0].graph();
  return {g.add("Fill", {g.add("ExpandDims", {e[0], constant(g, 0)}), e[0]}, {})};
}

TEST(Datasets, OfUnlikeElementsAreBatchedOnlyWithPadding) {
  const auto unlike = elements_of([](Graph& g) { return batch_dataset(map_dataset(numbers(g, 3), row), 3); });
  EXPECT_EQ(unlike.end.code(), Code::kInvalidArgument);
  EXPECT_THAT(unlike.end.message(), HasSubstr("First element had shape [0] and element 1 had shape [1]."));
  EXPECT_THAT(all_of([&](Graph& g) {
                const InputPipeline rows = map_dataset(numbers(g, 4), row);
                const Value d =
                    g.add("PaddedBatchDataset",
                          {rows.dataset, number(g, 2), constant(g, Tensor::vector<std::int64_t>({-1})), number(g, -1)},
                          {{"N", 1},
                           {"Toutput_types", std::vector<DType>{DType::kInt64}},
                           {"output_shapes", std::vector<PartialShape>{{-1, -1}}}});
                return InputPipeline{d, {DType::kInt64}, {PartialShape{-1, -1}}};
              }),
              ElementsAre("[-1 1]", "[2 2 -1 3 3 3]"));
}

TEST(Datasets, FlatMappedAndInterleaved) {
  const auto count_to = [](Values e) {  // n: n, n
    return repeat_dataset(tensor_dataset({e[0]}), 2);
  };
  EXPECT_THAT(all_of([&](Graph& g) { return flat_map_dataset(numbers(g, 3), count_to); }),
              ElementsAre("0", "0", "1", "1", "2", "2"));
  const auto expected = all_of([&](Graph& g) { return interleave_dataset(numbers(g, 5), count_to, 2, 1); });
  EXPECT_THAT(expected, ElementsAre("0", "1", "0", "1", "2", "3", "2", "3", "4", "4"));
  for (const std::int64_t cycle : {1, 2, 3, 8}) {
    for (const std::int64_t block : {1, 3}) {
      EXPECT_EQ(all_of([&](Graph& g) { return interleave_dataset(numbers(g, 9), count_to, cycle, block, 1); }),
                all_of([&](Graph& g) { return interleave_dataset(numbers(g, 9), count_to, cycle, block); }))
          << cycle << " " << block;
    }
  }
  const auto sloppy = all_of([&](Graph& g) {
    const InputPipeline in_order = interleave_dataset(numbers(g, 5), count_to, 2, 1, 2);
    const Node& node = g.node(in_order.dataset.node());
    AttrMap attrs = node.attrs;
    attrs.set("deterministic", std::string("false"));
    std::vector<Value> inputs;
    for (const Endpoint e : node.inputs) inputs.push_back(g.value(e));
    return InputPipeline{g.add("ParallelInterleaveDatasetV3", inputs, attrs), in_order.types, in_order.shapes};
  });
  EXPECT_THAT(sloppy, UnorderedElementsAre("0", "0", "1", "1", "2", "2", "3", "3", "4", "4"));
}

// Orders of TensorFlow 2.21 for these seeds.
TEST(Datasets, Shuffled) {
  const auto shuffled = [](std::int64_t n, std::int64_t buffer, bool anew) {
    std::vector<std::string> all = all_of([&](Graph& g) {
      return batch_dataset(repeat_dataset(shuffle_dataset(numbers(g, n), buffer, 7, 5, anew), 2), 100);
    });
    return all.at(0);
  };
  EXPECT_EQ(shuffled(8, 8, true), "[4 7 3 2 0 1 5 6 7 0 4 2 5 3 1 6]");
  EXPECT_EQ(shuffled(8, 3, false), "[2 1 3 4 0 7 6 5 2 1 3 4 0 7 6 5]");
  EXPECT_EQ(shuffled(8, -2, true), "[4 7 3 2 0 1 5 6 7 0 4 2 5 3 1 6]");
}

TEST(Datasets, Cached) {
  const TempDirectory dir;
  for (const std::string& file : {std::string(), dir.path("cache")}) {
    Graph graph;
    const VariableNode v = variable(graph, Tensor::scalar(std::int64_t{0}), "v", {.kind = VariableKind::kResource});
    const auto count = [&](Values e) -> std::vector<Value> {
      return {e[0] + count_up_to(v, 1000) * constant(e[0].graph(), std::int64_t{100})};
    };
    const IteratorValue iterator =
        initializable_iterator(repeat_dataset(cache_dataset(map_dataset(numbers(graph, 2), count), file), 3));
    ASSERT_TRUE(graph.status().ok()) << graph.status().to_string();
    TestSession session(graph);
    ASSERT_TRUE(session.run_targets({v.initializer}).ok());
    EXPECT_THAT(run_to_end(session, iterator).values, ElementsAre("0", "101", "0", "101", "0", "101"));
  }
}

TEST(Datasets, ReadAhead) {
  for (const std::int64_t buffer : {-1, 0, 1, 10}) {
    EXPECT_THAT(all_of([&](Graph& g) { return prefetch_dataset(map_dataset(numbers(g, 4), twice, 2), buffer); }),
                ElementsAre("0", "2", "4", "6"));
  }
  EXPECT_EQ(all_of([](Graph& g) { return repeat_dataset(prefetch_dataset(numbers(g, 3), 2), 300); }).size(), 900u);
}

TEST(Datasets, OfFiles) {
  const TempDirectory dir;
  dir.write("a", "one\ntwo\r\n\nlast");
  dir.write("b", "three\n");
  const auto names = [&](Graph& g, std::vector<std::string> list) {
    for (std::string& name : list) name = dir.path(name);
    return constant(g, Tensor::vector<std::string>(list));
  };
  EXPECT_THAT(all_of([&](Graph& g) {
                return text_line_dataset(names(g, {"a", "b"}));
              }),
              ElementsAre("\"one\"", "\"two\"", "\"\"", "\"last\"", "\"three\""));
  // Three records as TensorFlow writes them, the third from byte 37 on.
  std::string records = from_hex(
      "0500000000000000eab2043e666972737455ff23e5000000000000000029039807d8ea82a20500000000000000eab2043e74686972648cfd"
      "1075");
  const std::size_t whole = 37;
  dir.write("r", records);
  EXPECT_THAT(all_of([&](Graph& g) { return record_dataset(names(g, {"r"})); }),
              ElementsAre("\"first\"", "\"\"", "\"third\""));
  records[whole + 14] ^= 1;
  dir.write("damaged", records);
  const Elements damaged = elements_of([&](Graph& g) { return record_dataset(names(g, {"damaged"})); });
  EXPECT_EQ(damaged.values.size(), 2u);
  EXPECT_EQ(damaged.end.code(), Code::kDataLoss);
  EXPECT_THAT(damaged.end.message(), HasSubstr(str_cat("corrupted record at ", whole)));
  EXPECT_EQ(elements_of([&](Graph& g) { return text_line_dataset(names(g, {"none"})); }).end.code(), Code::kNotFound);
  dir.write("blocks", "hh123456f");
  EXPECT_THAT(all_of([&](Graph& g) {
                const Value d = g.add("FixedLengthRecordDataset",
                                      {names(g, {"blocks"}), number(g, 2), number(g, 3), number(g, 1), number(g, 0)});
                return InputPipeline{d, {DType::kString}, {PartialShape::scalar()}};
              }),
              ElementsAre("\"123\"", "\"456\""));
  // Less these, the file would have 2^63 - 5 bytes where it overflows.
  const Elements huge = elements_of([&](Graph& g) {
    const Value d = g.add("FixedLengthRecordDataset", {names(g, {"blocks"}), number(g, INT64_MAX), number(g, 1),
                                                       number(g, INT64_MAX), number(g, 0)});
    return InputPipeline{d, {DType::kString}, {PartialShape::scalar()}};
  });
  EXPECT_EQ(huge.end.code(), Code::kInvalidArgument) << huge.end.to_string();
  EXPECT_THAT(huge.end.message(), HasSubstr("less than 0 bytes long"));
}

TEST(Datasets, Windows) {
  const auto windows = [](Graph& g, std::int64_t size, std::int64_t shift, std::int64_t stride, bool drop) {
    const InputPipeline w =
        add("WindowDataset", numbers(g, 7), {number(g, size), number(g, shift), number(g, stride), constant(g, drop)},
            {}, {DType::kVariant}, {PartialShape::scalar()});
    return flat_map_dataset(w, [](Values e) {
      return batch_dataset({e[0], {DType::kInt64}, {PartialShape::scalar()}}, 100);
    });
  };
  EXPECT_THAT(all_of([&](Graph& g) { return windows(g, 3, 2, 1, false); }),
              ElementsAre("[0 1 2]", "[2 3 4]", "[4 5 6]", "[6]"));
  EXPECT_THAT(all_of([&](Graph& g) { return windows(g, 3, 2, 1, true); }),
              ElementsAre("[0 1 2]", "[2 3 4]", "[4 5 6]"));
  EXPECT_THAT(all_of([&](Graph& g) { return windows(g, 2, 4, 3, true); }), ElementsAre("[0 3]"));
}

// What only hands its input on took arguments of any shape where TensorFlow refuses them.
TEST(Dataset, HintsHaveTheShapesThatTensorFlowWants) {
  struct Hint {
    const char* op;
    const char* argument;
    DType dtype;
  };
  for (const Hint& row :
       {Hint{"MaxIntraOpParallelismDataset", "max_intra_op_parallelism", DType::kInt64},
        Hint{"PrivateThreadPoolDataset", "num_threads", DType::kInt64},
        Hint{"LatencyStatsDataset", "tag", DType::kString}, Hint{"BytesProducedStatsDataset", "tag", DType::kString}}) {
    Graph graph;
    const InputPipeline input = range_dataset(graph, 0, 3);
    const Value fed = graph.add("Placeholder", {}, {{"dtype", row.dtype}, {"shape", PartialShape::unknown()}});
    const Value made =
        graph.add(row.op, {input.dataset, fed}, {{"output_types", input.types}, {"output_shapes", input.shapes}});
    ASSERT_TRUE(graph.status().ok()) << row.op << ": " << graph.status().to_string();
    TestSession session(graph);
    const bool number = row.dtype == DType::kInt64;
    const auto run = [&](const Tensor& t) { return session.run({{fed, t}}, {}, {made.control()}).status(); };
    EXPECT_TRUE(run(number ? Tensor::scalar(std::int64_t{2}) : Tensor::scalar(std::string("t"))).ok()) << row.op;
    const Status wrong =
        run(number ? Tensor::vector<std::int64_t>({2}) : Tensor::vector<std::string>({std::string("t")}));
    EXPECT_EQ(wrong.code(), Code::kInvalidArgument) << row.op;
    EXPECT_THAT(wrong.message(), testing::AnyOf(HasSubstr(str_cat(row.argument, " must be a scalar")),
                                                HasSubstr("rank"), HasSubstr("must be of rank 0")))
        << row.op;
    if (!number) continue;
    EXPECT_THAT(run(Tensor::scalar(std::int64_t{-1})).message(), HasSubstr("must be >= 0"));
  }
}

}  // namespace
}  // namespace argosy
