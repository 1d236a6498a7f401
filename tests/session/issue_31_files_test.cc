// Issue 31: FixedUnigramCandidateSampler.vocab_file read any file of a server that allows one folder, and links in the
// folder, dangling ones too, led out of it. Every op that opens files says so (OpDef::opens_files) and is tried here.
#include <gmock/gmock.h>

#include <functional>
#include <map>

#include "argosy/base/system/test_files.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/ops.h"
#include "argosy/ops/queue/queue.h"
#include "tests/session/pipeline_test.h"
#include "tests/session/support/test_session.h"

namespace argosy {
namespace {

Value word(Graph& g, const std::string& w) { return constant(g, w); }
Value words(Graph& g, const std::vector<std::string>& w) { return constant(g, Tensor::vector(w)); }
Value number(Graph& g, std::int64_t n) { return constant(g, n); }

// What to run, one after the other, so that the op meets the path.
using Try = std::function<std::vector<Value>(Graph&, const std::string& op, const std::string& path)>;

std::vector<Value> dataset(Graph& g, const std::string& op, std::vector<Value> inputs, std::vector<DType> types = {},
                           AttrMap attrs = {}) {
  if (types.empty()) types = {DType::kString};
  const std::vector<PartialShape> shapes(types.size(), PartialShape::scalar());
  for (const AttrDef& attr : g.ops().find(op)->attr_defs) {
    if (attr.name == "output_types") attrs.set("output_types", types);
    if (attr.name == "output_shapes") attrs.set("output_shapes", shapes);
  }
  const IteratorValue iterator =
      initializable_iterator(InputPipeline{g.add(op, std::move(inputs), attrs), types, shapes});
  return {iterator.initializer, iterator.next[0]};
}

std::vector<Value> csv(Graph& g, const std::string& op, const std::string& path) {
  const Value none = constant(g, Tensor::zeros(DType::kInt64, {0}));
  std::vector<Value> inputs = {word(g, path),      word(g, ""),  number(g, 1000),
                               constant(g, false), word(g, ","), constant(g, true),
                               word(g, ""),        none,         constant(g, Tensor::vector<std::string>({""}))};
  if (op == "CSVDatasetV2") inputs.push_back(none);
  return dataset(g, op, inputs);
}

std::vector<Value> reader(Graph& g, const std::string& op, const std::string& path) {
  const std::string v = op.ends_with("V2") ? "V2" : "";
  const Value names = g.add("FIFOQueue" + v, {}, {{"component_types", std::vector<DType>{DType::kString}}});
  const Value files = g.add("WholeFileReader" + v, {});
  const Value put = g.add("QueueEnqueue" + v, {names, word(g, path)}).control();
  std::vector<Value> inputs = {files, names};
  if (op.starts_with("ReaderReadUpTo")) inputs.push_back(number(g, 1));
  return {put, g.add(op, inputs).output(1)};
}

std::vector<Value> table(Graph& g, const std::string& op, const std::string& path) {
  const std::string v = op.ends_with("V2") ? "V2" : "";
  const Value to = g.add("HashTable" + v, {}, {{"key_dtype", DType::kString}, {"value_dtype", DType::kInt64}});
  return {g.add(op, {to, word(g, path)}, {{"key_index", -2}, {"value_index", -1}}).control()};
}

const std::map<std::string, Try>& tries() {
  using Path = const std::string&;
  static const Try lines = [](Graph& g, Path op, Path path) {
    return dataset(g, op, {word(g, path), word(g, ""), number(g, 0)});
  };
  static const std::map<std::string, Try> all = {
      {"ReadFile", [](Graph& g, Path op, Path path) { return std::vector{g.add(op, {word(g, path)})}; }},
      {"WriteFile",
       [](Graph& g, Path op, Path path) {
         return std::vector{g.add(op, {word(g, path), word(g, "new")}).control()};
       }},
      {"MatchingFiles", [](Graph& g, Path op, Path path) { return std::vector{g.add(op, {word(g, path)})}; }},
      {"SaveV2",
       [](Graph& g, Path op, Path path) {
         return std::vector{
             g.add(op, {word(g, path), words(g, {"x"}), words(g, {""}), constant(g, std::int64_t{1})}).control()};
       }},
      {"RestoreV2",
       [](Graph& g, Path op, Path path) {
         return std::vector{g.add(op, {word(g, path), words(g, {"x"}), words(g, {""})},
                                  {{"dtypes", std::vector<DType>{DType::kInt64}}})};
       }},
      {"MergeV2Checkpoints",
       [](Graph& g, Path op, Path path) {
         return std::vector{g.add(op, {words(g, {path}), word(g, path)}).control()};
       }},
      {"Save",
       [](Graph& g, Path op, Path path) {
         return std::vector{g.add(op, {word(g, path), words(g, {"x"}), constant(g, std::int64_t{1})}).control()};
       }},
      {"SaveSlices",
       [](Graph& g, Path op, Path path) {
         return std::vector{
             g.add(op, {word(g, path), words(g, {"x"}), words(g, {""}), constant(g, std::int64_t{1})}).control()};
       }},
      {"Restore",
       [](Graph& g, Path op, Path path) {
         return std::vector{g.add(op, {word(g, path), word(g, "x")}, {{"dt", DType::kInt64}})};
       }},
      {"RestoreSlice",
       [](Graph& g, Path op, Path path) {
         return std::vector{g.add(op, {word(g, path), word(g, "x"), word(g, "")}, {{"dt", DType::kInt64}})};
       }},
      {"GenerateVocabRemapping",
       [](Graph& g, Path op, Path path) {
         return std::vector{g.add(op, {word(g, path), word(g, path)}, {{"new_vocab_offset", 0}, {"num_new_vocab", 1}})};
       }},
      {"LoadAndRemapMatrix",
       [](Graph& g, Path op, Path path) {
         const Value none = constant(g, Tensor::zeros(DType::kInt64, {0}));
         return std::vector{
             g.add(op, {word(g, path), word(g, "x"), none, none, constant(g, Tensor::zeros(DType::kFloat32, {0}))},
                   {{"num_rows", 0}, {"num_cols", 1}})};
       }},
      {"InitializeTableFromTextFile", table},
      {"InitializeTableFromTextFileV2", table},
      {"RecordInput",
       [](Graph& g, Path op, Path path) {
         return std::vector{g.add(op, {}, {{"file_pattern", path}, {"batch_size", 1}})};
       }},
      {"ReaderRead", reader},
      {"ReaderReadV2", reader},
      {"ReaderReadUpTo", reader},
      {"ReaderReadUpToV2", reader},
      {"FixedUnigramCandidateSampler",
       [](Graph& g, Path op, Path path) {
         const AttrMap attrs = {
             {"num_true", 1}, {"num_sampled", 1}, {"unique", false}, {"range_max", 1}, {"vocab_file", path}};
         return std::vector{g.add(op, {constant(g, Tensor::of<std::int64_t>({1, 1}, {0}))}, attrs)};
       }},
      {"TextLineDataset", lines},
      {"TFRecordDataset", lines},
      {"TFRecordDatasetV2",
       [](Graph& g, Path op, Path path) {
         return dataset(g, op,
                        {word(g, path), word(g, ""), number(g, 0), constant(g, Tensor::vector<std::int64_t>({0}))});
       }},
      {"FixedLengthRecordDataset",
       [](Graph& g, Path op, Path path) {
         return dataset(g, op, {word(g, path), number(g, 0), number(g, 1), number(g, 0), number(g, 0)});
       }},
      {"FixedLengthRecordDatasetV2",
       [](Graph& g, Path op, Path path) {
         return dataset(g, op, {word(g, path), number(g, 0), number(g, 1), number(g, 0), number(g, 0), word(g, "")});
       }},
      {"CSVDataset", csv},
      {"CSVDatasetV2", csv},
      {"ExperimentalCSVDataset", csv},
      {"MatchingFilesDataset", [](Graph& g, Path op, Path path) { return dataset(g, op, {word(g, path)}); }},
      {"ExperimentalMatchingFilesDataset",
       [](Graph& g, Path op, Path path) { return dataset(g, op, {word(g, path)}); }},
      {"CacheDataset",
       [](Graph& g, Path op, Path path) {
         const Value one = g.add("RangeDataset", {number(g, 0), number(g, 1), number(g, 1)},
                                 {{"output_types", std::vector<DType>{DType::kInt64}},
                                  {"output_shapes", std::vector<PartialShape>{PartialShape::scalar()}}});
         return dataset(g, op, {one, word(g, path)}, {DType::kInt64});
       }},
      {"CacheDatasetV2",
       [](Graph& g, Path op, Path path) {
         const Value one = g.add("RangeDataset", {number(g, 0), number(g, 1), number(g, 1)},
                                 {{"output_types", std::vector<DType>{DType::kInt64}},
                                  {"output_shapes", std::vector<PartialShape>{PartialShape::scalar()}}});
         return dataset(g, op, {one, word(g, path), g.add("DummyMemoryCache", {})}, {DType::kInt64});
       }},
      {"CreateSummaryFileWriter",
       [](Graph& g, Path op, Path path) {
         const Value writer = g.add("SummaryWriter", {});
         const Value create = g.add(op, {writer, word(g, path), constant(g, 10), constant(g, 1000), word(g, "")});
         return std::vector{create.control(), g.add("FlushSummaryWriter", {writer}).control()};
       }},
  };
  return all;
}

// Arguments that are named like files and name none.
const std::map<std::string, std::string>& no_files() {
  static const std::map<std::string, std::string> all = {
      {"ShardedFilename", "makes a name, opens nothing"},
      {"ShardedFilespec", "makes a name, opens nothing"},
      {"RegexReplace", "a pattern of text"},
      {"StaticRegexReplace", "a pattern of text"},
      {"RegexFullMatch", "a pattern of text"},
      {"StaticRegexFullMatch", "a pattern of text"},
      {"PrintV2", "of its streams those that are files are refused"},
      {"_StreamPlace", "a stream of random numbers"},
      {"_SetStreamPlace", "a stream of random numbers"},
  };
  return all;
}

bool like_a_file(std::string_view name) {
  for (const char* part : {"file", "path", "dir", "prefix", "pattern", "vocab_f", "asset", "stream", "uri", "url"}) {
    if (name.find(part) != std::string_view::npos) return true;
  }
  return false;
}

bool names_a_file(const OpDef& op) {
  if (op.name.starts_with("_Shard")) return false;  // "stream" is one of random numbers
  return std::any_of(op.input_args.begin(), op.input_args.end(),
                     [](const ArgDef& arg) { return arg.dtype == DType::kString && like_a_file(arg.name); }) ||
         std::any_of(op.attr_defs.begin(), op.attr_defs.end(), [](const AttrDef& attr) {
           return (attr.kind == AttrKind::kString || attr.kind == AttrKind::kStrings) && like_a_file(attr.name);
         });
}

TEST(Issue31Files, EveryOpThatOpensFilesSaysSoAndIsTried) {
  for (const auto& op : builtin_ops().all()) {
    if (op->opens_files) {
      EXPECT_TRUE(tries().contains(op->name)) << op->name << " opens files: add how to tries()";
      EXPECT_FALSE(no_files().contains(op->name)) << op->name;
    } else {
      EXPECT_FALSE(tries().contains(op->name)) << op->name << " is tried, so it should say opens_files";
      EXPECT_TRUE(!names_a_file(*op) || no_files().contains(op->name))
          << op->name << " has an argument like a file's name: say opens_files, or in no_files() why not";
    }
  }
}

class Folders {
 public:
  Folders() {
    for (const char* folder : {"in", "in/real", "out", "out/folder"})
      EXPECT_TRUE(make_directories(all_.path(folder)).ok());
    for (const char* name : {"out/secret", "out/folder/secret", "out/secret.index", "out/secret.data-00000-of-00001"}) {
      all_.write(name, "secret,1\n");
    }
    for (const char* end : {"", ".index", ".data-00000-of-00001"}) {
      link("../out/secret", "in/link", end);
      link(all_.path("out/secret"), "in/absolute", end);
      link("../out/new", "in/dangling", end);
      link("dangling", "in/twice", end);
    }
    link("../out/folder", "in/folder");
    link("..", "in/up");
    link("loop", "in/loop");
    link("/proc/self/root", "in/root");
    before_ = tree();
  }
  std::string path(std::string_view name) const { return all_.path(name); }
  // Every path that leads out.
  std::vector<std::string> forbidden() const {
    return {path("out/secret"),
            path("in/../out/secret"),
            path("out/new"),
            path("in/link"),
            path("in/absolute"),
            path("in/dangling"),
            path("in/twice"),
            path("in/folder/secret"),
            path("in/folder/new"),
            path("in/up/out/secret"),
            path("in/real/../../out/secret"),
            str_cat(path("in/root"), path("out/secret")),
            "file://" + path("out/secret")};
  }
  bool untouched() const { return tree() == before_; }

 private:
  void link(const std::string& to, const std::string& from, const std::string& end = "") const {
    std::filesystem::create_symlink(to + end, all_.path(from + end));
  }
  std::map<std::string, std::string> tree() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(all_.path("out"))) {
      files[entry.path().string()] =
          entry.is_regular_file() ? read_file(entry.path().string(), 1000).value_or("?") : "";
    }
    return files;
  }
  TempDirectory all_;
  std::map<std::string, std::string> before_;
};

TEST(Issue31Files, NoOpLeavesTheFolder) {
  const Folders folders;
  int refused = 0;
  for (const auto& [op, make] : tries()) {
    for (const std::string& path : folders.forbidden()) {
      SCOPED_TRACE(op + " " + path);
      const auto device_set = *DeviceSet::make({});
      device_set->set_files(*FilePolicy::within({folders.path("in")}));
      Graph g;
      const std::vector<Value> steps = make(g, op, path);
      ASSERT_TRUE(g.status().ok()) << g.status().to_string();
      TestSession session(g, {.device_set = device_set});
      Status status;
      for (const Value& step : steps) {
        if (status.ok()) status = session.run({step}).status();
      }
      EXPECT_EQ(status.code(), Code::kPermissionDenied) << status.to_string();
      EXPECT_THAT(std::string(status.message()), testing::HasSubstr("none of the folders that this server allows"));
      refused += status.code() == Code::kPermissionDenied ? 1 : 0;
    }
  }
  EXPECT_TRUE(folders.untouched());
  RecordProperty("refused", refused);
}

// The same calls work where they may: the refusals above are not for another reason.
TEST(Issue31Files, OpsReachTheirFilesInsideTheFolder) {
  for (const auto& [op, make] : tries()) {
    SCOPED_TRACE(op);
    const Folders folders;
    const std::string path = folders.path("in/real/x");
    const auto device_set = *DeviceSet::make({});
    device_set->set_files(*FilePolicy::within({folders.path("in")}));
    if (op != "WriteFile" && op != "Save" && op != "SaveSlices" && op != "SaveV2" && !op.starts_with("Cache") &&
        op != "CreateSummaryFileWriter") {
      Graph g;
      const bool bundle = op.starts_with("RestoreV2") || op.starts_with("Merge") || op == "LoadAndRemapMatrix";
      const char* const writer = bundle ? "SaveV2" : op.starts_with("Restore") ? "Save" : "WriteFile";
      const auto made = tries().at(writer)(g, writer, path);
      TestSession session(g, {.device_set = device_set});
      ASSERT_TRUE(session.run({made[0]}).ok()) << session.run({made[0]}).status().to_string();
      if (op == "FixedUnigramCandidateSampler") {
        ASSERT_TRUE(File::create(path)->write("a,1\n").ok());
      }
    }
    Graph g;
    const std::vector<Value> steps = make(g, op, path);
    TestSession session(g, {.device_set = device_set});
    for (const Value& step : steps) {
      const Status status = session.run({step}).status();
      const bool damaged =  // the file is no such file, what the checkpoint holds no matrix
          ((op.starts_with("TFRecord") || op == "RecordInput") && status.code() == Code::kDataLoss) ||
          (op == "LoadAndRemapMatrix" && std::string(status.message()).find("Tensor x has invalid type") == 0);
      EXPECT_TRUE(status.ok() || damaged) << status.to_string();
    }
  }
}

// A checkpoint's parts may be links that lead out where its prefix does not.
TEST(Issue31Files, PartsOfACheckpointDoNotLeadOut) {
  const Folders folders;
  const auto device_set = *DeviceSet::make({});
  device_set->set_files(*FilePolicy::within({folders.path("in")}));
  const auto run = [&](const char* op, const std::string& path) {
    Graph g;
    TestSession session(g, {.device_set = device_set});
    const auto steps = tries().at(op)(g, op, path);
    return session.run({steps[0]}).status();
  };
  ASSERT_TRUE(run("SaveV2", folders.path("in/ck")).ok());
  const std::string data = folders.path("in/ck.data-00000-of-00001");
  std::filesystem::rename(data, folders.path("out/data"));
  std::filesystem::create_symlink(folders.path("out/data"), data);
  const Status restored = run("RestoreV2", folders.path("in/ck"));
  EXPECT_EQ(restored.code(), Code::kPermissionDenied) << restored.to_string();
  const std::string secret = read_file(folders.path("out/data"), 1000).value_or("");
  (void)run("SaveV2", folders.path("in/ck"));
  EXPECT_EQ(read_file(folders.path("out/data"), 1000).value_or(""), secret);
}

}  // namespace
}  // namespace argosy
