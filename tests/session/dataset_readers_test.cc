// Datasets that read records of files and Examples, and those that cut batches another way. tests/oracle/graphs/datasets.py holds
// them against TensorFlow.
#include <gmock/gmock.h>

#include "argosy/base/system/test_files.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/control_flow/functional.h"
#include "tests/session/pipeline_test.h"
#include "tests/session/support/test_session.h"

namespace argosy {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<DType> kInt = {DType::kInt64};

Value number(Graph& g, std::int64_t n) { return constant(g, n); }
Value longs(Graph& g, std::vector<std::int64_t> v) { return constant(g, Tensor::vector(v)); }
Value words(Graph& g, std::vector<std::string> v) { return constant(g, Tensor::vector(v)); }

InputPipeline made(Graph& g, std::string_view op, std::vector<Value> inputs, AttrMap attrs, std::vector<DType> types,
                   std::vector<PartialShape> shapes) {
  attrs.set("output_types", types);
  attrs.set("output_shapes", shapes);
  return {g.add(op, std::move(inputs), attrs), types, shapes};
}

InputPipeline lines_of(const std::vector<Value>& file) { return text_line_dataset(file[0]); }
InputPipeline lines_by_branch(const std::vector<Value>& file) {
  const Branch lines = [&] { return std::vector<Value>{text_line_dataset(file[0]).dataset}; };
  const Value chosen = switch_case(constant(file[0].graph(), std::int32_t{1}), {lines, lines})[0];
  return {chosen, {DType::kString}, {PartialShape::scalar()}};
}

// Workers share the files, not the lines; the list is shuffled after that. A branch may open the files.
TEST(DatasetReaders, WorkersShareFiles) {
  const TempDirectory folder;
  std::vector<std::string> names;
  for (const char* digit : {"0", "1", "2", "3"}) {
    folder.write(digit, str_cat(digit, "1\n", digit, "2\n"));
    names.push_back(folder.path(digit));
  }
  struct Way {
    bool shuffled;
    DatasetFunction open;
  };
  for (const auto& [shuffled, open] : {Way{false, lines_of}, {true, lines_of}, {false, lines_by_branch}}) {
    const auto lines = [&](std::int64_t policy) {
      return all_of([&](Graph& g) {
        InputPipeline files = tensor_slice_dataset({words(g, names)});
        if (shuffled) files = shuffle_dataset(files, 4, 1, 2);
        const InputPipeline all = flat_map_dataset(files, open);
        return made(g, "AutoShardDataset", {all.dataset, number(g, 3), number(g, 1)}, {{"auto_shard_policy", policy}},
                    {DType::kString}, {PartialShape::scalar()});
      });
    };
    EXPECT_THAT(lines(0), ElementsAre("\"11\"", "\"12\""));
    EXPECT_THAT(lines(1), ElementsAre("\"11\"", "\"12\""));
    EXPECT_EQ(lines(2).size(), 3u);
  }
}

// Pipelines share the datasets below their shards: each found what the first had kept, another worker's lines.
TEST(DatasetReaders, WorkersCacheWhatTheyRead) {
  const TempDirectory folder;
  std::vector<std::string> names;
  for (const char* digit : {"0", "1", "2", "3"}) {
    folder.write(digit, str_cat(digit, "\n"));
    names.push_back(folder.path(digit));
  }
  const auto read = [](const InputPipeline& files) {
    return flat_map_dataset(files, [](const std::vector<Value>& name) { return text_line_dataset(name[0]); });
  };
  const auto shuffled = [&](Graph& of) {
    return shuffle_dataset(tensor_slice_dataset({words(of, names)}), 4, 3, 1, /*reshuffle_each_iteration=*/false);
  };
  Graph g;
  const auto shard = [&g](const InputPipeline& of, std::int64_t index) {
    return made(g, "AutoShardDataset", {of.dataset, number(g, 2), number(g, index)}, {{"auto_shard_policy", 1}},
                {DType::kString}, {PartialShape::scalar()});
  };
  const InputPipeline lines = cache_dataset(read(tensor_slice_dataset({words(g, names)})));
  const InputPipeline list = cache_dataset(shuffled(g));
  const std::vector<IteratorValue> iterators = {
      initializable_iterator(shard(repeat_dataset(lines, 2), 1)),
      initializable_iterator(repeat_dataset(shard(lines, 0), 2)),
      initializable_iterator(lines),
      initializable_iterator(shard(read(list), 0)),
      initializable_iterator(read(list)),
  };
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  TestSession session(g);
  std::vector<Value> initializers;
  for (const IteratorValue& i : iterators) initializers.push_back(i.initializer);
  ASSERT_TRUE(session.run_targets(initializers).ok());  // one step: one cache
  const auto left = [&](std::size_t i) {
    return run_to_end(session, {.handle = {}, .initializer = {}, .next = iterators[i].next}).values;
  };
  EXPECT_THAT(left(0), ElementsAre("\"1\"", "\"3\"", "\"1\"", "\"3\""));
  EXPECT_THAT(left(1), ElementsAre("\"0\"", "\"2\"", "\"0\"", "\"2\""));
  EXPECT_THAT(left(2), ElementsAre("\"0\"", "\"1\"", "\"2\"", "\"3\""));
  EXPECT_THAT(left(3), testing::UnorderedElementsAre("\"0\"", "\"2\""));
  EXPECT_EQ(left(4), all_of([&](Graph& other) { return read(shuffled(other)); }));
}

class CsvFiles {
 public:
  explicit CsvFiles(const std::string& text) { folder_.write("table.csv", text); }
  InputPipeline columns(Graph& g, const char* op, std::vector<std::int64_t> columns,
                        std::vector<Tensor> defaults) const {
    std::vector<Value> inputs = {constant(g, folder_.path("table.csv")),
                                 constant(g, ""),
                                 number(g, 100),
                                 constant(g, true),
                                 constant(g, ","),
                                 constant(g, true),
                                 constant(g, "NA")};
    const bool without = std::string_view(op) == "CSVDatasetV2";
    inputs.push_back(longs(g, without ? std::vector<std::int64_t>() : columns));
    std::vector<DType> types;
    for (const Tensor& t : defaults) {
      inputs.push_back(constant(g, t));
      types.push_back(t.dtype());
    }
    if (without) inputs.push_back(longs(g, columns));
    return made(g, op, inputs, {}, types, std::vector<PartialShape>(types.size(), PartialShape::scalar()));
  }

 private:
  const TempDirectory folder_;
};

TEST(DatasetReaders, Csv) {
  const CsvFiles files("id,word,share\n1,\"a,\"\"b\"\"\",0.5\r\n2,,1\nx,y,2\n3,NA,4");
  const Tensor id = Tensor::zeros(DType::kInt32, {0}), word = Tensor::vector<std::string>({"none"}),
               share = Tensor::zeros(DType::kFloat32, {0});
  for (const char* op : {"CSVDataset", "ExperimentalCSVDataset"}) {
    Graph g;
    const IteratorValue iterator = initializable_iterator(files.columns(g, op, {}, {id, word, share}));
    ASSERT_TRUE(g.status().ok()) << g.status().to_string();
    TestSession session(g);
    ASSERT_TRUE(session.run_targets({iterator.initializer}).ok());
    const auto next = [&] {
      const auto row = session.run(iterator.next);
      if (!row.ok()) return str_cat(code_name(row.status().code()));
      return str_cat(values_of((*row)[0]), " ", *(*row)[1].data<std::string>(), " ", values_of((*row)[2]));
    };
    EXPECT_EQ(next(), "1 a,\"b\" 0.5");
    EXPECT_EQ(next(), "2 none 1");
    EXPECT_EQ(next(), "INVALID_ARGUMENT");  // and then on
    EXPECT_EQ(next(), "3 none 4");
    EXPECT_EQ(next(), "OUT_OF_RANGE");
  }
  EXPECT_THAT(all_of([&](Graph& g) { return files.columns(g, "CSVDataset", {2}, {share}); }),
              ElementsAre("0.5", "1", "2", "4"));
  EXPECT_THAT(all_of([&](Graph& g) {
                return files.columns(g, "CSVDatasetV2", {0, 1}, {share});
              }),
              ElementsAre("0.5", "1", "2", "4"));
  const Elements refused = elements_of([&](Graph& g) {
    return files.columns(g, "CSVDataset", {2, 1}, {share, share});
  });
  EXPECT_THAT(refused.end.message(), HasSubstr("strictly increasing"));
}

// A serialized Example of lists of small integers, field by field as in its .proto.
std::string example(const std::vector<std::pair<std::string, std::string>>& features) {
  const auto field = [](int number, const std::string& bytes) {
    return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
  };
  std::string all;
  for (const auto& [key, ints] : features) all += field(1, field(1, key) + field(2, field(3, field(1, ints))));
  return field(1, all);
}

// Components come by key: dense "a", sparse "s".
TEST(DatasetReaders, Examples) {
  for (const char* op : {"ParseExampleDataset", "ParseExampleDatasetV2", "ExperimentalParseExampleDataset"}) {
    SCOPED_TRACE(op);
    const auto make = [&](Graph& g) {
      const InputPipeline rows =
          batch_dataset(tensor_slice_dataset(
                            {words(g, {example({{"a", "\1"}, {"s", "\7\10"}}), example({{"s", "\11"}}), example({})})}),
                        2);
      const AttrMap attrs = {{"sparse_keys", std::vector<std::string>{"s"}},
                             {"dense_keys", std::vector<std::string>{"a"}},
                             {"sparse_types", kInt},
                             {"Tdense", kInt},
                             {"dense_shapes", std::vector<PartialShape>{PartialShape::scalar()}}};
      const InputPipeline parsed =
          made(g, op, {rows.dataset, number(g, 2), constant(g, Tensor::scalar(std::int64_t{-1}))}, attrs,
               {DType::kInt64, DType::kVariant}, {PartialShape{PartialShape::kUnknown}, PartialShape{3}});
      return map_dataset(parsed, [](const std::vector<Value>& e) -> std::vector<Value> {
        const Value sparse = e[1].graph().add("DeserializeSparse", {e[1]}, {{"dtype", DType::kInt64}});
        return {e[0], sparse.output(0), sparse.output(1), sparse.output(2)};
      });
    };
    EXPECT_THAT(all_of(make), ElementsAre("[1 -1] [0 0 0 1 1 0] [7 8 9] [2 2]", "[-1] [] [] [1 0]"));
  }
}

TEST(DatasetReaders, BatchesCutAnotherWay) {
  const std::vector<PartialShape> vectors = {PartialShape{PartialShape::kUnknown}};
  for (const char* op : {"SlidingWindowDataset", "ExperimentalSlidingWindowDataset"}) {
    EXPECT_THAT(all_of([&](Graph& g) {
                  return made(g, op, {range_dataset(g, 0, 8).dataset, number(g, 3), number(g, 2), number(g, 1)}, {},
                              kInt, vectors);
                }),
                ElementsAre("[0 1 2]", "[2 3 4]", "[4 5 6]"));
  }
  EXPECT_THAT(all_of([&](Graph& g) {
                return made(g, "RebatchDatasetV2",
                            {batch_dataset(range_dataset(g, 0, 8), 5).dataset, longs(g, {1, 3}), constant(g, false)},
                            {}, kInt, vectors);
              }),
              ElementsAre("[0]", "[1 2 3]", "[4]", "[5 6 7]"));
  for (const char* op : {"DenseToSparseBatchDataset", "ExperimentalDenseToSparseBatchDataset"}) {
    EXPECT_THAT(all_of([&](Graph& g) {
                  const InputPipeline rows = batch_dataset(range_dataset(g, 0, 3), 2);
                  const InputPipeline sparse = made(g, op, {rows.dataset, number(g, 2), longs(g, {-1})}, {},
                                                    {DType::kVariant}, {PartialShape{3}});
                  return map_dataset(sparse, [](const std::vector<Value>& e) -> std::vector<Value> {
                    const Value parts = e[0].graph().add("DeserializeSparse", {e[0]}, {{"dtype", DType::kInt64}});
                    return {parts.output(0), parts.output(1), parts.output(2)};
                  });
                }),
                ElementsAre("[0 0 0 1 1 0] [0 1 2] [2 2]"));
  }
  for (const char* op : {"SleepDataset", "ExperimentalSleepDataset"}) {
    EXPECT_THAT(
        all_of([&](Graph& g) {
          return made(g, op, {range_dataset(g, 0, 2).dataset, number(g, 100)}, {}, kInt, {PartialShape::scalar()});
        }),
        ElementsAre("0", "1"));
  }
  for (const char* op : {"ChooseFastestDataset", "ExperimentalChooseFastestDataset"}) {
    EXPECT_THAT(all_of([&](Graph& g) {
                  const InputPipeline d = range_dataset(g, 0, 2);
                  return made(g, op, {d.dataset, d.dataset}, {{"num_experiments", 3}}, kInt, {PartialShape::scalar()});
                }),
                ElementsAre("0", "1"));
  }
}

TEST(DatasetReaders, ListsAndMatchingFiles) {
  EXPECT_THAT(all_of([](Graph& g) {
                return made(g, "ListDataset", {number(g, 1), constant(g, true), number(g, 2), constant(g, false)}, {},
                            {DType::kInt64, DType::kBool}, {PartialShape::scalar(), PartialShape::scalar()});
              }),
              ElementsAre("1 true", "2 false"));
  TempDirectory folder;
  folder.write("a.txt", "");
  folder.write("b.txt", "");
  for (const char* op : {"MatchingFilesDataset", "ExperimentalMatchingFilesDataset"}) {
    const std::vector<std::string> found = all_of([&](Graph& g) {
      return InputPipeline{g.add(op, {words(g, {folder.path("*.txt")})}), {DType::kString}, {PartialShape::scalar()}};
    });
    ASSERT_EQ(found.size(), 2u);
    EXPECT_THAT(found[0], HasSubstr("a.txt"));
  }
}

// A graph's datasets read what its device set allows, also in functions that other datasets call.
TEST(DatasetReaders, KeepToTheFoldersThatAreAllowed) {
  TempDirectory inside, outside;
  for (const TempDirectory* folder : {&inside, &outside}) folder->write("lines", "one\n");
  const auto device_set = *DeviceSet::make({});
  auto policy = FilePolicy::within({inside.path()});
  ASSERT_TRUE(policy.ok()) << policy.status().to_string();
  device_set->set_files(*std::move(policy));
  const auto code = [&](const std::function<InputPipeline(Graph&)>& make) {
    Graph g;
    const IteratorValue iterator = initializable_iterator(make(g));
    EXPECT_TRUE(g.status().ok()) << g.status().to_string();
    TestSession session(g, {.device_set = device_set});
    const Status initialized = session.run_targets({iterator.initializer});
    const Status status = initialized.ok() ? session.run(iterator.next).status() : initialized;
    EXPECT_TRUE(status.ok() || status.code() == Code::kPermissionDenied) << status.to_string();
    return status.code();
  };
  for (const TempDirectory* folder : {&inside, &outside}) {
    const Code wanted = folder == &inside ? Code::kOk : Code::kPermissionDenied;
    const std::string path = folder->path("lines");
    EXPECT_EQ(code([&](Graph& g) { return text_line_dataset(constant(g, path)); }), wanted);
    EXPECT_EQ(code([&](Graph& g) {
                return flat_map_dataset(tensor_dataset({constant(g, path)}),
                                        [](const std::vector<Value>& e) { return text_line_dataset(e[0]); });
              }),
              wanted);
    EXPECT_EQ(code([&](Graph& g) { return cache_dataset(tensor_dataset({constant(g, "x")}), folder->path("cache")); }),
              wanted);
    EXPECT_EQ(code([&](Graph& g) {
                return InputPipeline{g.add("MatchingFilesDataset", {words(g, {folder->path("*")})}),
                                     {DType::kString},
                                     {PartialShape::scalar()}};
              }),
              wanted);
  }
}

}  // namespace
}  // namespace argosy
