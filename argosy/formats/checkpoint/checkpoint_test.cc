#include "argosy/formats/checkpoint/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "argosy/base/system/test_files.h"
#include "argosy/formats/checkpoint/bundle_index.h"
#include "argosy/formats/checkpoint/sorted_table.h"
#include "argosy/formats/proto/bundle.pb.h"
#include "argosy/formats/proto/crc32c.h"

namespace argosy::tf {
namespace {

using testing::HasSubstr;

bool same(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  if (a.dtype() == DType::kString) return std::ranges::equal(a.values<std::string>(), b.values<std::string>());
  return a.bytes() == 0 || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

Tensor random_tensor(DType dtype, const Shape& shape, std::mt19937& random) {
  Tensor t = Tensor::zeros(dtype, shape);
  if (dtype == DType::kString) {
    for (std::string& s : t.values<std::string>()) {
      s.resize(random() % 300);
      for (char& c : s) c = static_cast<char>(random());
    }
    return t;
  }
  for (std::size_t i = 0; i < t.bytes(); ++i) {
    t.raw_as<char>()[i] = static_cast<char>(dtype == DType::kBool ? random() % 2 : random());
  }
  return t;
}

std::vector<NamedTensor> small_model() {
  return {{"w", Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6})},
          {"dense/bias", Tensor::vector<double>({7, 8})},
          {"global_step", Tensor::scalar<std::int64_t>(42)},
          {"words", Tensor::vector<std::string>({"", "abc", std::string(200, 'x')})}};
}

TEST(Checkpoint, RoundTripsEveryDtypeAndShape) {
  TempDirectory temp;
  std::mt19937 random(3);
  std::vector<NamedTensor> model;
  for (int d = 1; d <= static_cast<int>(DType::kUint64); ++d) {
    const auto dtype = static_cast<DType>(d);
    if (dtype == DType::kResource || dtype == DType::kVariant) continue;
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{5}, Shape{3, 0, 2}, Shape{2, 3, 4, 1, 2, 1, 2}}) {
      model.push_back({str_cat("t/", d, "/", shape), random_tensor(dtype, shape, random)});
    }
  }
  for (const int shards : {1, 3}) {
    const std::string prefix = temp.path(str_cat("ckpt-", shards));
    ASSERT_TRUE(write_checkpoint(prefix, model, {.shards = shards, .durable = false}).ok());
    const auto reader = CheckpointReader::open(prefix);
    ASSERT_TRUE(reader.ok()) << reader.status().to_string();
    EXPECT_EQ(reader->entries().size(), model.size());
    EXPECT_TRUE(reader->verify().ok());
    for (const auto& [name, tensor] : model) {
      const auto read = reader->read(name);
      ASSERT_TRUE(read.ok()) << read.status().to_string();
      EXPECT_TRUE(same(*read, tensor)) << name;
    }
  }
  EXPECT_EQ(temp.read("ckpt-3.data-00003-of-00003"), "");
  EXPECT_TRUE(file_exists(temp.path("ckpt-3.data-00002-of-00003")));
}

TEST(Checkpoint, LargeTensorsAreReadInParallelPieces) {
  TempDirectory temp;
  std::mt19937 random(5);
  std::vector<NamedTensor> model;
  for (const int n : {1, 70'000, 2'500'001, 5'000'000}) {
    model.push_back({str_cat("n", n), random_tensor(DType::kFloat32, {n}, random)});
  }
  ASSERT_TRUE(write_checkpoint(temp.path("big"), model, {.durable = false}).ok());
  const auto reader = CheckpointReader::open(temp.path("big"));
  ASSERT_TRUE(reader.ok());
  ASSERT_TRUE(reader->verify().ok());
  std::vector<NamedTensor> to;
  for (const auto& [name, tensor] : model) to.push_back({name, Tensor::zeros(tensor.dtype(), tensor.shape())});
  ASSERT_TRUE(reader->read_into(to).ok());
  for (std::size_t i = 0; i < model.size(); ++i) EXPECT_TRUE(same(to[i].tensor, model[i].tensor)) << i;
}

TEST(Checkpoint, ReplacingKeepsTheOldOneUntilTheIndexIsRenamed) {
  TempDirectory temp;
  const std::vector<NamedTensor> first = {{"v", Tensor::scalar(1.0f)}};
  const std::vector<NamedTensor> second = {{"v", Tensor::scalar(2.0f)}};
  // Break the save at its k-th operation, for every k; "crash": nothing works from then on, not even cleaning up.
  for (const bool crash : {false, true}) {
    int operations = 0;
    for (int k = 0;; ++k) {
      TempDirectory dir;
      ASSERT_TRUE(write_checkpoint(dir.path("c"), first, {.durable = false}).ok());
      int count = 0;
      const IoHook hook = [&](std::string_view operation, const std::string& path) {
        const int n = count++;
        if (n == k || (crash && n > k)) return data_loss("injected: ", operation, " ", path);
        return ok_status();
      };
      const Status status = write_checkpoint(dir.path("c"), second, {.durable = true, .io_hook = hook});
      const auto reader = CheckpointReader::open(dir.path("c"));
      ASSERT_TRUE(reader.ok()) << k << reader.status().to_string();
      ASSERT_TRUE(reader->verify().ok()) << k;
      const float value = reader->read("v")->data<float>()[0];
      if (status.ok()) {
        EXPECT_EQ(value, 2.0f) << k;
      }
      if (value == 1.0f) {
        EXPECT_FALSE(status.ok());
      }
      if (!crash && !status.ok() && value == 1.0f) {
        EXPECT_EQ(list_directory(dir.path())->size(), 2u) << "leftovers after operation " << k;
      }
      if (count <= k) break;  // the fault was never reached
      operations = k + 1;
    }
    EXPECT_GE(operations, 9);
  }
  // Again and again: names alternate, nothing piles up.
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(write_checkpoint(temp.path("c"), second, {.durable = false}).ok());
  EXPECT_EQ(list_directory(temp.path())->size(), 2u);
}

TEST(Checkpoint, RefusesWhatCannotBeSaved) {
  TempDirectory temp;
  const auto save = [&](std::vector<NamedTensor> model) { return write_checkpoint(temp.path("x"), model); };
  EXPECT_EQ(save({{"", Tensor::scalar(1.0f)}}).code(), Code::kInvalidArgument);
  EXPECT_EQ(save({{"a", Tensor::scalar(1.0f)}, {"a", Tensor::scalar(1.0f)}}).code(), Code::kInvalidArgument);
  EXPECT_EQ(save({{"r", Tensor::zeros(DType::kResource, {})}}).code(), Code::kUnimplemented);
  EXPECT_EQ(write_checkpoint(temp.path("no/such/x"), small_model()).code(), Code::kNotFound);
  EXPECT_TRUE(list_directory(temp.path())->empty());
}

TEST(Checkpoint, ErrorsNameTensorFileAndOffset) {
  TempDirectory temp;
  ASSERT_TRUE(write_checkpoint(temp.path("m"), small_model(), {.durable = false}).ok());
  auto reader = CheckpointReader::open(temp.path("m"));
  ASSERT_TRUE(reader.ok());
  const Status missing = reader->read("dense/bais").status();
  EXPECT_EQ(missing.code(), Code::kNotFound);
  EXPECT_THAT(missing.message(), HasSubstr("'dense/bias'"));
  const Status shape = reader->read_into(std::vector<NamedTensor>{{"w", Tensor::zeros(DType::kFloat32, {3, 2})}});
  EXPECT_EQ(shape.code(), Code::kFailedPrecondition);
  EXPECT_THAT(shape.message(), HasSubstr("float[2,3]"));
  EXPECT_THAT(shape.message(), HasSubstr("float[3,2]"));
  const Status both = reader->read_into(std::vector<NamedTensor>{{"w", Tensor::zeros(DType::kFloat32, {3, 2})},
                                                                 {"v", Tensor::zeros(DType::kFloat32, {})}});
  EXPECT_EQ(both.code(), Code::kFailedPrecondition);
  EXPECT_THAT(both.message(), HasSubstr("2 of 2"));

  std::string data = temp.read("m.data-00000-of-00001");
  data[20] = static_cast<char>(data[20] ^ 1);  // dense/bias 16, global_step 8 bytes
  temp.write("m.data-00000-of-00001", data);
  EXPECT_TRUE(reader->verify().ok());  // it holds on to the files that it opened
  reader = CheckpointReader::open(temp.path("m"));
  ASSERT_TRUE(reader.ok());
  const Status damaged = reader->verify();
  EXPECT_EQ(damaged.code(), Code::kDataLoss);
  EXPECT_THAT(damaged.message(), HasSubstr("'global_step'"));
  EXPECT_THAT(damaged.message(), HasSubstr("byte 16"));
  EXPECT_THAT(damaged.message(), HasSubstr("m.data-00000-of-00001"));
  EXPECT_TRUE(reader->read("w").ok());
  EXPECT_EQ(reader->read("global_step").status().code(), Code::kDataLoss);
  EXPECT_EQ(CheckpointReader::open(temp.path("other")).status().code(), Code::kNotFound);
}

// Opens and reads everything; the error, or OK when every tensor came out.
Status read_everything(const std::string& prefix) {
  ARGOSY_ASSIGN_OR_RETURN(const CheckpointReader reader, CheckpointReader::open(prefix));
  ARGOSY_RETURN_IF_ERROR(reader.verify());
  for (const auto& entry : reader.entries()) ARGOSY_RETURN_IF_ERROR(reader.read(entry.name).status());
  return ok_status();
}

TEST(Checkpoint, EveryCutAndEveryFlippedBitIsRefused) {
  TempDirectory temp;
  ASSERT_TRUE(write_checkpoint(temp.path("m"), small_model(), {.durable = false}).ok());
  for (const std::string name : {"m.index", "m.data-00000-of-00001"}) {
    const std::string whole = temp.read(name);
    for (std::size_t n = 0; n < whole.size(); ++n) {
      temp.write(name, whole.substr(0, n));
      EXPECT_EQ(read_everything(temp.path("m")).code(), Code::kDataLoss) << name << " cut at " << n;
    }
    for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
      std::string flipped = whole;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
      temp.write(name, flipped);
      EXPECT_FALSE(read_everything(temp.path("m")).ok()) << name << " bit " << bit;
    }
    temp.write(name, whole);
  }
  EXPECT_TRUE(read_everything(temp.path("m")).ok());
  ASSERT_TRUE(remove_file(temp.path("m.data-00000-of-00001")).ok());
  EXPECT_EQ(read_everything(temp.path("m")).code(), Code::kDataLoss);
}

// An index made by hand, with good checksums throughout: what a malicious writer could send.
class HostileIndex : public testing::Test {
 protected:
  HostileIndex() {
    header_.set_num_shards(1);
    header_.mutable_version()->set_producer(1);
    entry_.set_dtype(tensorflow::DT_FLOAT);
    entry_.mutable_shape()->add_dim()->set_size(4);
    entry_.set_size(16);
    const float zeros[4] = {};
    entry_.set_crc32c(mask_crc(crc32c_extend(0, zeros, 16)));
    temp_.write("h.data-00000-of-00001", std::string(64, '\0'));
  }
  Status open() {
    std::vector<TableEntry> entries = {{"", header_.SerializeAsString()}, {"a", entry_.SerializeAsString()}};
    for (auto& e : more_) entries.push_back(e);
    temp_.write("h.index", *build_table(entries));
    return read_everything(temp_.path("h"));
  }
  TempDirectory temp_;
  tensorflow::BundleHeaderProto header_;
  tensorflow::BundleEntryProto entry_;
  std::vector<TableEntry> more_;
};

TEST_F(HostileIndex, IsFineAsItIs) { EXPECT_TRUE(open().ok()) << open().to_string(); }
TEST_F(HostileIndex, OffsetBeyondEverything) {
  entry_.set_offset(INT64_MAX);
  EXPECT_EQ(open().code(), Code::kDataLoss);
}
TEST_F(HostileIndex, NegativeOffset) {
  entry_.set_offset(-1);
  EXPECT_EQ(open().code(), Code::kDataLoss);
}
TEST_F(HostileIndex, ShapeThatOverflows) {
  entry_.mutable_shape()->mutable_dim(0)->set_size(INT64_MAX);
  EXPECT_EQ(open().code(), Code::kDataLoss);
}
TEST_F(HostileIndex, MoreBytesThanTheFileHas) {
  entry_.mutable_shape()->mutable_dim(0)->set_size(std::int64_t{1} << 40);
  entry_.set_size(std::int64_t{1} << 42);
  EXPECT_EQ(open().code(), Code::kDataLoss);
}
TEST_F(HostileIndex, ShardThatDoesNotExist) {
  entry_.set_shard_id(7);
  EXPECT_EQ(open().code(), Code::kDataLoss);
}
TEST_F(HostileIndex, TooManyShards) {
  header_.set_num_shards(2'000'000'000);
  EXPECT_EQ(open().code(), Code::kDataLoss);
}
TEST_F(HostileIndex, OverlappingTensors) {
  more_.emplace_back("b", entry_.SerializeAsString());
  EXPECT_EQ(open().code(), Code::kDataLoss);
}
TEST_F(HostileIndex, MoreStringsThanBytes) {
  entry_.set_dtype(tensorflow::DT_STRING);
  entry_.mutable_shape()->mutable_dim(0)->set_size(std::int64_t{1} << 40);
  EXPECT_EQ(open().code(), Code::kDataLoss);
}
TEST_F(HostileIndex, BigEndianAndNewerFormats) {
  header_.set_endianness(tensorflow::BundleHeaderProto::BIG);
  EXPECT_EQ(open().code(), Code::kFailedPrecondition);
  header_.set_endianness(tensorflow::BundleHeaderProto::LITTLE);
  header_.mutable_version()->set_min_consumer(9);
  EXPECT_EQ(open().code(), Code::kFailedPrecondition);
}
TEST_F(HostileIndex, TypesThatWeDoNotHaveAreListedNotRead) {
  entry_.set_dtype(static_cast<tensorflow::DataType>(29));  // int4
  EXPECT_EQ(open().code(), Code::kUnimplemented);
}

// A 3x4 variable in three slices, entries as TensorFlow writes them.
class Partitioned : public HostileIndex {
 protected:
  Partitioned() {
    std::string data;
    for (int i = 0; i < 12; ++i) {
      const auto value = static_cast<float>(i);
      data.append(reinterpret_cast<const char*>(&value), 4);
    }
    temp_.write("h.data-00000-of-00001", data + std::string(16, '\0'));
    entry_.set_offset(48);
    whole_.set_dtype(tensorflow::DT_FLOAT);
    whole_.mutable_shape()->add_dim()->set_size(3);
    whole_.mutable_shape()->add_dim()->set_size(4);
    add({{0, 1}, {0, -1}}, 0, {1, 4}, data);
    add({{1, 2}, {0, 1}}, 16, {2, 1}, data);
    add({{1, 2}, {1, 3}}, 24, {2, 3}, data);
  }
  void add(const Slice& slice, std::int64_t offset, const Shape& shape, const std::string& data) {
    auto* stored = whole_.add_slices();
    for (const Extent& e : slice) {
      auto* extent = stored->add_extent();
      extent->set_start(e.start);
      if (e.length >= 0) extent->set_length(e.length);
    }
    tensorflow::BundleEntryProto entry;
    entry.set_dtype(tensorflow::DT_FLOAT);
    for (const auto size : shape.sizes()) entry.mutable_shape()->add_dim()->set_size(size);
    entry.set_offset(offset);
    entry.set_size(shape.elements() * 4);
    entry.set_crc32c(mask_crc(crc32c(
        std::string_view(data).substr(static_cast<std::size_t>(offset), static_cast<std::size_t>(entry.size())))));
    slices_.emplace_back(slice_key("v", slice), entry.SerializeAsString());
  }
  Status open_partitioned() {
    std::sort(slices_.begin(), slices_.end());
    std::vector<TableEntry> entries = {{"", header_.SerializeAsString()}};
    entries.insert(entries.end(), slices_.begin(), slices_.end());
    entries.emplace_back("a", entry_.SerializeAsString());
    entries.emplace_back("v", whole_.SerializeAsString());
    temp_.write("h.index", *build_table(entries));
    return read_everything(temp_.path("h"));
  }
  tensorflow::BundleEntryProto whole_;
  std::vector<TableEntry> slices_;
};

TEST_F(Partitioned, IsReadAsOneTensor) {
  ASSERT_TRUE(open_partitioned().ok()) << open_partitioned().to_string();
  const auto reader = CheckpointReader::open(temp_.path("h"));
  EXPECT_EQ(reader->entries().size(), 2u);
  EXPECT_EQ(reader->find("v")->slices, 3);
  EXPECT_EQ(reader->find("v")->bytes, 48);
  const Tensor expected = Tensor::of<float>({3, 4}, {0, 1, 2, 3, 4, 6, 7, 8, 5, 9, 10, 11});
  EXPECT_TRUE(same(*reader->read("v"), expected)) << reader->read("v")->to_string(12);
}
TEST_F(Partitioned, WithAMissingSlice) {
  slices_.pop_back();
  EXPECT_EQ(open_partitioned().code(), Code::kDataLoss);
}
TEST_F(Partitioned, WithAHole) {
  whole_.mutable_slices()->RemoveLast();
  EXPECT_EQ(open_partitioned().code(), Code::kDataLoss);
}
TEST_F(Partitioned, WithASliceTwice) {
  *whole_.mutable_slices(1) = whole_.slices(2);
  EXPECT_EQ(open_partitioned().code(), Code::kDataLoss);
}
TEST_F(Partitioned, WithASliceOutside) {
  whole_.mutable_slices(2)->mutable_extent(0)->set_start(INT64_MAX);
  EXPECT_EQ(open_partitioned().code(), Code::kDataLoss);
}

TEST(SliceKey, IsTensorFlowsOrderedCode) {
  const Slice slice = {{0, -1}, {64, 300}};
  const std::string expected = std::string("\0v\0\1\1\2", 6) + "\x80\x7f" + "\xc0\x40" + "\xc1\x2c";
  EXPECT_EQ(slice_key("v", slice), expected);
}

}  // namespace
}  // namespace argosy::tf
