// Ops that touch files, in a session: checkpoints, readers, tables from text; and what a device set may forbid.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "argosy/base/system/file.h"
#include "argosy/base/system/test_files.h"
#include "argosy/ops/checkpoint/checkpoint.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/file/file.h"
#include "argosy/ops/queue/queue.h"
#include "argosy/ops/reader/reader.h"
#include "argosy/ops/table/table.h"
#include "argosy/runtime/session/session.h"
#include "argosy/testing/op_cases/op_case.h"
#include "tests/session/support/test_session.h"

namespace argosy {
namespace {

using testing::HasSubstr;

class FileOps : public testing::Test {
 protected:
  Value word(const std::string& w) { return constant(graph_, w); }
  Value words(const std::vector<std::string>& w) { return constant(graph_, Tensor::vector(w)); }
  Value path(const std::string& name) { return word(temp_.path(name)); }
  Value numbers(std::initializer_list<std::int64_t> n) { return constant(graph_, Tensor::vector<std::int64_t>(n)); }
  Value count(std::int32_t n) { return constant(graph_, n); }
  Status run(Value target) { return get({target}).status(); }
  Result<std::vector<Tensor>> get(const std::vector<Value>& fetches) {
    if (!graph_.status().ok()) return graph_.status();
    if (!session_) session_ = std::make_unique<TestSession>(graph_, SessionOptions{.device_set = device_set_});
    return session_->run(fetches);
  }
  void expect(Value fetch, const Tensor& expected) {
    const auto out = get({fetch});
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    EXPECT_EQ(difference(out->at(0), expected, 0), "");
  }
  void write(const std::string& name, const std::string& contents) {
    ASSERT_TRUE(run(write_file(path(name), word(contents))).ok());
  }
  TempDirectory temp_;
  Graph graph_;
  std::shared_ptr<DeviceSet> device_set_ = *DeviceSet::make({});
  std::unique_ptr<TestSession> session_;
};

TEST_F(FileOps, WholeFiles) {
  write("new/folder/a.txt", std::string("a\0b", 3));
  expect(read_file(path("new/folder/a.txt")), Tensor::scalar(std::string("a\0b", 3)));
  write("new/folder/b.txt", "b");
  write("new/folder/c.csv", "c");
  expect(matching_files(path("new/folder/*.txt")),
         Tensor::vector<std::string>({temp_.path("new/folder/a.txt"), temp_.path("new/folder/b.txt")}));
  expect(matching_files(path("none*")), Tensor::zeros(DType::kString, {0}));
  EXPECT_EQ(run(read_file(path("none"))).code(), Code::kNotFound);
}

// What tf.train.warm_start reads: a vocabulary in another order, and the weights that go with it.
TEST_F(FileOps, WarmStarts) {
  write("old", "a\nb\nc\n");
  write("new", "c\r\nd\na\nb");
  const auto words_of = [&](const char* now, const char* before, std::int64_t offset, std::int64_t count,
                            std::int64_t size = -1) {
    return graph_.add("GenerateVocabRemapping", {path(now), path(before)},
                      {{"new_vocab_offset", offset}, {"num_new_vocab", count}, {"old_vocab_size", size}});
  };
  expect(words_of("new", "old", 0, 4), Tensor::vector<std::int64_t>({2, -1, 0, 1}));
  expect(words_of("new", "old", 0, 4).output(1), Tensor::scalar(3));
  expect(words_of("new", "old", 2, 2), Tensor::vector<std::int64_t>({0, 1}));
  expect(words_of("new", "old", 0, 4, 1), Tensor::vector<std::int64_t>({-1, -1, 0, -1}));
  const auto refuses = [&](Value v, Code code, const char* sentence) {
    const Status status = run(v);
    EXPECT_EQ(status.code(), code) << sentence;
    EXPECT_THAT(status.to_string(), HasSubstr(sentence));
  };
  refuses(words_of("new", "old", 2, 4), Code::kInvalidArgument,
          "lookup table size must be larger than last new vocab entry's line");
  refuses(words_of("new", "old", 0, 4, 9), Code::kInvalidArgument, "expected 9 but got 3");
  refuses(words_of("new", "none", 0, 4), Code::kNotFound, "No such file");
  write("twice", "a\nb\na\n");
  refuses(words_of("new", "twice", 0, 4), Code::kFailedPrecondition,
          "HashTable has different value for same key. Key a has 0 and trying to add value 2");

  const Value matrix = constant(graph_, Tensor::of<float>({3, 2}, {0, 1, 2, 3, 4, 5}));
  ASSERT_TRUE(run(save(path("model"), words({"m", "i"}), words({"", ""}), {matrix, constant(graph_, 1)})).ok());
  const auto loaded = [&](const char* name, std::initializer_list<std::int64_t> rows,
                          std::initializer_list<std::int64_t> columns, std::vector<float> initial,
                          std::int64_t num_cols) {
    return graph_.add(
        "LoadAndRemapMatrix",
        {path("model"), word(name), numbers(rows), numbers(columns), constant(graph_, Tensor::vector(initial))},
        {{"num_rows", static_cast<std::int64_t>(rows.size())}, {"num_cols", num_cols}});
  };
  expect(loaded("m", {2, 0}, {}, {}, 2), Tensor::of<float>({2, 2}, {4, 5, 0, 1}));
  expect(loaded("m", {2, -1, 0}, {1, 0, -1}, {9, 8, 7, 6, 5}, 3),
         Tensor::of<float>({3, 3}, {5, 4, 9, 8, 7, 6, 1, 0, 5}));
  refuses(loaded("m", {2, -1}, {}, {9}, 2), Code::kInvalidArgument,
          "initializing_values contained 1 elements, but more missing values remain.");
  refuses(loaded("m", {2, -1}, {}, {9, 8, 7}, 2), Code::kInvalidArgument,
          "initializing_values contained 3 elements, but only 2 elements were used to fill in missing values.");
  refuses(loaded("m", {2, 2}, {}, {}, 2), Code::kUnimplemented, "Old ID 2 is mapped to both new ID 0 and 1");
  refuses(loaded("m", {3}, {}, {}, 2), Code::kInvalidArgument, "there are 3 old ones");
  refuses(loaded("m", {0}, {2, 0}, {}, 2), Code::kInvalidArgument, "there are 2 old ones");
  refuses(loaded("m", {0}, {}, {}, 3), Code::kInvalidArgument, "instead of being equal to num_cols=3");
  refuses(loaded("i", {0}, {}, {}, 2), Code::kInvalidArgument, "Tensor i has invalid type int32 instead of");
  refuses(loaded("z", {0}, {}, {}, 2), Code::kNotFound, "Key z not found in checkpoint");
}

// Each epoch gives every record of all files once, in an order that the seed fixes.
TEST_F(FileOps, RecordsAreDrawnFromAllFiles) {
  // TFRecords of "r0" to "r6": length and its checksum, which are the same, the bytes, and their checksum.
  const std::string head("\x02\x00\x00\x00\x00\x00\x00\x00\x78\x27\x0b\x34", 12);
  const char* const sums[] = {"\x15\x9e\x97\x56", "\xc2\x42\x96\x54", "\x23\x5c\x7e\xf8", "\x74\x80\x7f\xf6",
                              "\xe0\x26\xae\x3c", "\xb7\xc3\xaf\x3e", "\x56\xe9\x47\x1e"};
  std::string files[2];
  for (int i = 0; i < 7; ++i) files[i % 2] += head + str_cat("r", i) + std::string(sums[i], 4);
  write("one.rec", files[0]);
  write("two.rec", files[1]);
  const auto input = [&](const std::string& pattern, std::int64_t batch, std::int64_t buffer, const char* kind = "") {
    return graph_.add("RecordInput", {},
                      {{"file_pattern", temp_.path(pattern)},
                       {"batch_size", batch},
                       {"file_buffer_size", buffer},
                       {"file_shuffle_shift_ratio", AttrValue(0.5f)},
                       {"compression_type", kind}});
  };
  for (const std::int64_t buffer : {1, 3, 100}) {
    const Value y = input("*.rec", 7, buffer), same = input("*.rec", 7, buffer);
    std::vector<std::string> orders;
    for (int epoch = 0; epoch < 3; ++epoch) {
      const auto got = get({y, same});
      ASSERT_TRUE(got.ok()) << got.status().to_string();
      EXPECT_EQ(difference((*got)[0], (*got)[1], 0), "");
      std::vector<std::string> records((*got)[0].values<std::string>().begin(), (*got)[0].values<std::string>().end());
      orders.push_back(str_join(records, " "));
      std::sort(records.begin(), records.end());
      EXPECT_EQ(str_join(records, " "), "r0 r1 r2 r3 r4 r5 r6");
    }
    EXPECT_NE(orders[0] + orders[1], orders[1] + orders[2]);
  }
  EXPECT_EQ(run(input("none*", 1, 9)).code(), Code::kNotFound);
  write("empty.none", "");
  EXPECT_EQ(run(input("*.none", 1, 9)).code(), Code::kInvalidArgument);
  write("broken.bad", files[0].substr(0, 20));
  EXPECT_EQ(run(input("*.bad", 2, 9)).code(), Code::kDataLoss);
  EXPECT_EQ(run(input("*.rec", 1, 9, "GZIP")).code(), Code::kUnimplemented);
}

TEST_F(FileOps, SaveRestoreMerge) {
  const Value whole = constant(graph_, Tensor::of<float>({2, 2}, {1, 2, 3, 4}));
  const Value row = constant(graph_, Tensor::of<float>({1, 2}, {5, 6}));
  const Value names = words({"w", "part"}), blank = words({"", ""});
  ASSERT_TRUE(run(save(path("t/a"), names, words({"", "2 2 0,1:-"}), {whole, row})).ok());
  ASSERT_TRUE(run(save(path("t/b"), words({"part"}), words({"2 2 1,1:-"}), {row})).ok());
  ASSERT_TRUE(run(merge_checkpoints(words({temp_.path("t/a"), temp_.path("t/b")}), path("all"))).ok());
  EXPECT_FALSE(file_exists(temp_.path("t")));
  const auto both = restore(path("all"), names, blank, {DType::kFloat32, DType::kFloat32});
  expect(both[0], Tensor::of<float>({2, 2}, {1, 2, 3, 4}));
  expect(both[1], Tensor::of<float>({2, 2}, {5, 6, 5, 6}));
  expect(restore(path("all"), words({"part"}), words({"2 2 0,2:1,1"}), {DType::kFloat32})[0],
         Tensor::of<float>({2, 1}, {6, 6}));
  const Status missing = run(restore(path("all"), words({"v"}), words({""}), {DType::kFloat32})[0]);
  EXPECT_EQ(missing.code(), Code::kNotFound);
  EXPECT_THAT(missing.message(), HasSubstr("Key v not found in checkpoint"));
  EXPECT_THAT(run(restore(path("all"), words({"w"}), words({""}), {DType::kInt32})[0]).message(),
              HasSubstr("expected dtype int32 does not equal original dtype float"));
}

TEST_F(FileOps, FilesOfTheFirstFormat) {
  const Value x = constant(graph_, Tensor::vector<float>({1, 2})), s = words({"a", "b"});
  ASSERT_TRUE(run(graph_.add("Save", {path("old"), words({"x", "s"}), x, s}).control()).ok());
  expect(graph_.add("Restore", {path("old"), word("s")}, {{"dt", DType::kString}}),
         Tensor::vector<std::string>({"a", "b"}));
  const auto sharded = [&](std::int32_t i) { return sharded_filename(path("s"), count(i), count(2)); };
  for (std::int32_t i = 0; i < 2; ++i) {
    const Value place = words({str_cat("4 ", 2 * i, ",2")});
    ASSERT_TRUE(run(graph_.add("SaveSlices", {sharded(i), words({"w"}), place, x}).control()).ok());
  }
  const Value every = graph_.add("ShardedFilespec", {path("s"), count(2)});
  expect(graph_.add("RestoreSlice", {every, word("w"), word("4 1,2")}, {{"dt", DType::kFloat32}}),
         Tensor::vector<float>({2, 1}));
  expect(restore(path("old"), words({"x"}), words({""}), {DType::kFloat32})[0], Tensor::vector<float>({1, 2}));
}

TEST_F(FileOps, ReadersGoFromFileToFile) {
  write("a", "1\n2\n");
  write("b", "3");
  for (const char* v : {"V2", ""}) {
    SCOPED_TRACE(v);
    const auto op = [&](const char* name) { return str_cat(name, v); };
    const Value queue = graph_.add(op("FIFOQueue"), {}, {{"component_types", std::vector<DType>{DType::kString}}});
    const Value lines = graph_.add(op("TextLineReader"), {});
    const Value one = graph_.add(op("ReaderRead"), {lines, queue});
    const Value many = graph_.add(op("ReaderReadUpTo"), {lines, queue, constant(graph_, std::int64_t{9})});
    const Value produced = graph_.add(op("ReaderNumRecordsProduced"), {lines});
    const Value finished = graph_.add(op("ReaderNumWorkUnitsCompleted"), {lines});
    const Value reset = graph_.add(op("ReaderReset"), {lines}).control();
    const Value close = graph_.add(op("QueueClose"), {queue}).control();
    for (const char* name : {"a", "b"}) {
      ASSERT_TRUE(run(graph_.add(op("QueueEnqueue"), {queue, path(name)}).control()).ok());
    }
    ASSERT_TRUE(run(close).ok());
    expect(one.output(1), Tensor::scalar("1"));
    expect(many.output(1), Tensor::vector<std::string>({"2"}));
    expect(one, Tensor::scalar(temp_.path("b") + ":1"));
    EXPECT_EQ(run(one).code(), Code::kOutOfRange);
    expect(produced, Tensor::scalar(std::int64_t{3}));
    expect(finished, Tensor::scalar(std::int64_t{2}));
    ASSERT_TRUE(run(reset).ok());
    expect(produced, Tensor::scalar(std::int64_t{0}));
  }
}

TEST_F(FileOps, RecordsOfSizesNearTheEndOfTheRange) {
  write("x", "abcdef");
  const auto records = [&](std::int64_t record, std::int64_t footer, std::int64_t hop) {
    const Value queue = graph_.add("FIFOQueueV2", {}, {{"component_types", std::vector<DType>{DType::kString}}});
    const Value reader = graph_.add("FixedLengthRecordReaderV2", {},
                                    {{"record_bytes", record}, {"footer_bytes", footer}, {"hop_bytes", hop}});
    EXPECT_TRUE(run(graph_.add("QueueEnqueueV2", {queue, path("x")}).control()).ok());
    EXPECT_TRUE(run(graph_.add("QueueCloseV2", {queue}).control()).ok());
    const Value read = graph_.add("ReaderReadV2", {reader, queue});
    int found = 0;
    while (run(read.output(1)).ok()) ++found;
    EXPECT_EQ(run(read.output(1)).code(), Code::kOutOfRange) << record << " " << footer << " " << hop;
    return found;
  };
  EXPECT_EQ(records(2, 0, 0), 3);
  EXPECT_EQ(records(2, 1, 1), 4);
  EXPECT_EQ(records(2, 0, INT64_MAX), 1);
  EXPECT_EQ(records(2, INT64_MAX, 0), 0);
}

TEST_F(FileOps, EveryKindOfReader) {
  write("x", "abcdef");
  const Value framed = word(std::string("\x01\0\0\0\0\0\0\0\x1e\x97\x9b\x01x", 13));  // not a whole record
  ASSERT_TRUE(run(write_file(path("damaged"), framed)).ok());
  struct Kind {
    const char* op;
    AttrMap attrs;
    const char* file;
    const char* first;  // null: damaged, or IdentityReader, which gives the name
  };
  const Kind kinds[] = {{"WholeFileReader", {}, "x", "abcdef"},
                        {"FixedLengthRecordReader", {{"record_bytes", 2}, {"header_bytes", 1}}, "x", "bc"},
                        {"IdentityReader", {}, "x", nullptr},
                        {"TFRecordReader", {}, "damaged", nullptr}};
  for (const Kind& kind : kinds) {
    for (const char* v : {"V2", ""}) {
      SCOPED_TRACE(str_cat(kind.op, v));
      const Value queue =
          graph_.add(str_cat("FIFOQueue", v), {}, {{"component_types", std::vector<DType>{DType::kString}}});
      const Value reader = graph_.add(str_cat(kind.op, v), {}, kind.attrs);
      const Value read = graph_.add(str_cat("ReaderRead", v), {reader, queue});
      ASSERT_TRUE(run(graph_.add(str_cat("QueueEnqueue", v), {queue, path(kind.file)}).control()).ok());
      if (kind.op == std::string("IdentityReader")) {
        expect(read.output(1), Tensor::scalar(temp_.path("x")));
        const Value state = graph_.add(str_cat("ReaderSerializeState", v), {reader});
        // started, finished, records: 1 each; the name
        const std::string name = temp_.path("x");
        expect(state, Tensor::scalar(str_cat("\x08\x01\x10\x01\x18\x01\"", static_cast<char>(name.size()), name)));
        const Value other = graph_.add(str_cat(kind.op, v), {}, kind.attrs);
        ASSERT_TRUE(run(graph_.add(str_cat("ReaderRestoreState", v), {other, state}).control()).ok());
        expect(graph_.add(str_cat("ReaderNumRecordsProduced", v), {other}), Tensor::scalar(std::int64_t{1}));
      } else if (kind.first != nullptr) {
        expect(read.output(1), Tensor::scalar(kind.first));
      } else {
        EXPECT_EQ(run(read).code(), Code::kDataLoss);
      }
    }
  }
}

TEST_F(FileOps, TablesFromText) {
  write("words", "ten\t10\ntwenty\t20\n");
  for (const char* v : {"V2", ""}) {
    SCOPED_TRACE(v);
    const Value table =
        graph_.add(str_cat("HashTable", v), {}, {{"key_dtype", DType::kString}, {"value_dtype", DType::kInt64}});
    const Value fill = graph_.add(str_cat("InitializeTableFromTextFile", v), {table, path("words")},
                                  {{"key_index", 0}, {"value_index", 1}});
    ASSERT_TRUE(run(fill.control()).ok());
    expect(
        graph_.add(str_cat("LookupTableFind", v), {table, words({"twenty", "x"}), constant(graph_, std::int64_t{-1})}),
        Tensor::vector<std::int64_t>({20, -1}));
  }
}

TEST_F(FileOps, ATableRefusesEmptyLines) {
  write("gap", "a\n\nb\n");
  const Value table = graph_.add("HashTableV2", {}, {{"key_dtype", DType::kString}, {"value_dtype", DType::kInt64}});
  const auto fill = [&](int lines) {
    const Value filled = graph_.add("InitializeTableFromTextFileV2", {table, path("gap")},
                                    {{"key_index", -2}, {"value_index", -1}, {"vocab_size", lines}});
    return run(filled.control());
  };
  EXPECT_THAT(fill(-1).message(), HasSubstr("empty line found at position 3"));
  EXPECT_TRUE(fill(1).ok()) << "it is behind the lines that are read";
}

// The file policy of a device set holds for every op that opens files.
TEST_F(FileOps, OnlyWhatTheMachineAllows) {
  ASSERT_TRUE(make_directories(temp_.path("in")).ok());
  write("out", "secret");
  const Value inside = write_file(path("in/a"), word("a")), outside = write_file(path("b"), word("b"));
  const Value queue = fifo_queue(graph_, {.dtypes = {DType::kString}});
  const Value x = constant(graph_, Tensor::vector<float>({1}));
  const std::vector<Value> refused = {
      outside,
      read_file(path("in/../out")),
      matching_files(path("o*")),
      save(path("c"), words({"x"}), words({""}), {x}),
      restore(path("c"), words({"x"}), words({""}), {DType::kFloat32})[0],
      merge_checkpoints(words({temp_.path("c")}), path("in/d")),
      graph_.add("Save", {path("c"), words({"x"}), x}).control(),
      graph_.add("Restore", {path("c"), word("x")}, {{"dt", DType::kFloat32}}),
      graph_
          .add("InitializeTableFromTextFileV2", {hash_table(graph_, {}), path("out")},
               {{"key_index", -2}, {"value_index", -1}})
          .control(),
      reader_read(whole_file_reader(graph_), queue).second,
  };
  ASSERT_TRUE(run(enqueue(queue, {path("out")})).ok());
  device_set_->set_files(*FilePolicy::within({temp_.path("in")}));
  EXPECT_TRUE(run(inside).ok());
  for (const Value& v : refused) {
    const Status status = run(v);
    EXPECT_EQ(status.code(), Code::kPermissionDenied) << v.name() << ": " << status.to_string();
  }
  EXPECT_TRUE(run(save(path("in/c"), words({"x"}), words({""}), {x})).ok());
  device_set_->set_files(FilePolicy());
  EXPECT_TRUE(run(outside).ok());
}

}  // namespace
}  // namespace argosy
