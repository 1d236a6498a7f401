// Files whose one record is larger than the budget of host memory. Twelve ops that read whole lines, blocks, records or
// files are refused before they take the memory.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "argosy/base/memory/host_budget.h"
#include "argosy/base/sanitizers.h"
#include "argosy/base/system/test_files.h"
#include "argosy/formats/proto/crc32c.h"
#include "argosy/formats/proto/wire.h"
#include "argosy/ops/constant/constant.h"
#include "tests/session/pipeline_test.h"
#include "tests/session/support/test_session.h"

namespace argosy {
namespace {

constexpr std::int64_t kRecord = std::int64_t{1} << 30;
constexpr std::int64_t kBudget = 32 << 20;

Value number(Graph& g, std::int64_t n) { return constant(g, n); }
Value word(Graph& g, const std::string& w) { return constant(g, w); }

// What to run, one after the other.
using Steps = std::function<std::vector<Value>(Graph&, const std::string& path)>;

std::vector<Value> dataset(Graph& g, const std::string& op, std::vector<Value> inputs, bool typed = false) {
  const std::vector<DType> types = {DType::kString};
  const std::vector<PartialShape> shapes = {PartialShape::scalar()};
  AttrMap attrs;
  if (typed) attrs = {{"output_types", types}, {"output_shapes", shapes}};
  const IteratorValue iterator =
      initializable_iterator(InputPipeline{g.add(op, std::move(inputs), attrs), types, shapes});
  return {iterator.initializer, iterator.next[0]};
}

std::vector<Value> reader(Graph& g, const std::string& op, const std::string& path, const AttrMap& attrs = {}) {
  const Value names = g.add("FIFOQueueV2", {}, {{"component_types", std::vector<DType>{DType::kString}}});
  const Value put = g.add("QueueEnqueueV2", {names, word(g, path)}).control();
  return {put, g.add("ReaderReadV2", {g.add(op, {}, attrs), names}).output(1)};
}

struct HugeCase {
  std::string op;
  Steps steps;
  bool framed = false;  // the file begins with the header of a record
};

std::vector<HugeCase> cases() {
  const auto csv = [](Graph& g, const std::string& path) {
    const Value none = constant(g, Tensor::zeros(DType::kInt64, {0}));
    return dataset(g, "CSVDataset",
                   {word(g, path), word(g, ""), number(g, 1000), constant(g, false), word(g, ","), constant(g, true),
                    word(g, ""), none, constant(g, Tensor::vector<std::string>({""}))},
                   true);
  };
  const auto table = [](Graph& g, const std::string& path) {
    const Value to = g.add("HashTableV2", {}, {{"key_dtype", DType::kString}, {"value_dtype", DType::kInt64}});
    return std::vector{
        g.add("InitializeTableFromTextFileV2", {to, word(g, path)}, {{"key_index", -2}, {"value_index", -1}})
            .control()};
  };
  using Path = const std::string&;
  return {
      {"ReadFile", [](Graph& g, Path path) { return std::vector{g.add("ReadFile", {word(g, path)})}; }},
      {"TextLineDataset",
       [](Graph& g, Path path) {
         return dataset(g, "TextLineDataset", {word(g, path), word(g, ""), number(g, 0)});
       }},
      {"FixedLengthRecordDataset",
       [](Graph& g, Path path) {
         return dataset(g, "FixedLengthRecordDataset",
                        {word(g, path), number(g, 0), number(g, kRecord), number(g, 0), number(g, 0)});
       }},
      {"TFRecordDataset",
       [](Graph& g, Path path) {
         return dataset(g, "TFRecordDataset", {word(g, path), word(g, ""), number(g, 0)});
       },
       true},
      {"CSVDataset", csv},
      {"TextLineReaderV2", [](Graph& g, Path path) { return reader(g, "TextLineReaderV2", path); }},
      {"WholeFileReaderV2", [](Graph& g, Path path) { return reader(g, "WholeFileReaderV2", path); }},
      {"FixedLengthRecordReaderV2",
       [](Graph& g, Path path) {
         return reader(g, "FixedLengthRecordReaderV2", path, {{"record_bytes", kRecord}});
       }},
      {"TFRecordReaderV2", [](Graph& g, Path path) { return reader(g, "TFRecordReaderV2", path); }, true},
      {"RecordInput",
       [](Graph& g, Path path) {
         return std::vector{g.add("RecordInput", {}, {{"file_pattern", path}, {"batch_size", 1}})};
       },
       true},
      {"InitializeTableFromTextFileV2", table},
      {"GenerateVocabRemapping",
       [](Graph& g, Path path) {
         return std::vector{g.add("GenerateVocabRemapping", {word(g, path), word(g, path)},
                                  {{"new_vocab_offset", 0}, {"num_new_vocab", 1}})};
       }},
  };
}

// Zeros that take no room on the disk; with a header, one record of them.
std::string huge_file(const TempDirectory& folder, bool framed) {
  std::string head;
  if (framed) {
    tf::put_u64(head, kRecord);
    tf::put_u32(head, tf::mask_crc(tf::crc32c(head)));
  }
  folder.write("huge", head);
  std::filesystem::resize_file(folder.path("huge"), 4 * kRecord);
  return folder.path("huge");
}

// The most memory that this process had since the last call, in bytes; -1: the system does not say.
std::int64_t peak_since_last_call() {
  std::ifstream status("/proc/self/status");
  std::int64_t peak = -1;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) peak = std::stoll(line.substr(6)) << 10;
  }
  std::ofstream refs("/proc/self/clear_refs");
  refs << "5" << std::flush;
  return refs ? peak : -1;
}

TEST(HugeFiles, AreRefusedBeforeTheyTakeMemory) {
  const TempDirectory folder;
  for (const HugeCase& k : cases()) {
    Graph g;
    const std::vector<Value> steps = k.steps(g, huge_file(folder, k.framed));
    ASSERT_TRUE(g.status().ok()) << k.op << ": " << g.status().to_string();
    TestSession session(g);
    const auto limit = host_budget().with_limit(host_budget().in_use() + kBudget);
    (void)peak_since_last_call();
    const std::int64_t before = peak_since_last_call();
    Status status;
    for (const Value step : steps) {
      if (status.ok()) status = session.run({step}).status();
    }
    const std::int64_t peak = peak_since_last_call();
    EXPECT_EQ(status.code(), Code::kResourceExhausted) << k.op << ": " << status.to_string();
    if (before >= 0 && !kSanitized) {
      EXPECT_LE(peak - before, 4 * kBudget) << k.op;
    }
  }
}

}  // namespace
}  // namespace argosy
