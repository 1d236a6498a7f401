#include "argosy/data/files/idx.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include "argosy/base/system/test_files.h"
#include "argosy/data/dataset.h"
#include "argosy/data/test_data.h"

namespace argosy::data {
namespace {

std::string gzipped(const std::string& bytes) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 9, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

TEST(Idx, ReadsEveryTypePlainAndGzipped) {
  TempDirectory temp;
  temp.write("bytes", idx_file(0x08, {2, 3}, "abcdef"));
  const auto bytes = read_idx(temp.path("bytes"));
  ASSERT_TRUE(bytes.ok()) << bytes.status().to_string();
  EXPECT_EQ(bytes->shape(), (Shape{2, 3}));
  EXPECT_EQ(bytes->data<std::uint8_t>()[5], 'f');

  temp.write("shorts", gzipped(idx_file(0x0b, {2}, std::string("\x01\x02\xff\xfe", 4))));
  const auto shorts = read_idx(temp.path("shorts"));
  ASSERT_TRUE(shorts.ok()) << shorts.status().to_string();
  EXPECT_EQ(shorts->data<std::int16_t>()[0], 0x102);
  EXPECT_EQ(shorts->data<std::int16_t>()[1], -2);

  temp.write("doubles", idx_file(0x0e, {1}, std::string("\x3f\xf0\0\0\0\0\0\0", 8)));
  EXPECT_EQ(read_idx(temp.path("doubles"))->data<double>()[0], 1.0);
  temp.write("none", idx_file(0x08, {0, 28, 28}, ""));
  EXPECT_EQ(read_idx(temp.path("none"))->elements(), 0);
}

TEST(Idx, EveryCutAndAnythingMoreIsRefused) {
  TempDirectory temp;
  const std::string plain = idx_file(0x08, {3, 4}, "abcdefghijkl");
  for (const std::string& whole : {plain, gzipped(plain)}) {
    for (std::size_t n = 0; n < whole.size(); ++n) {
      temp.write("cut", whole.substr(0, n));
      EXPECT_EQ(read_idx(temp.path("cut")).status().code(), Code::kDataLoss) << n;
    }
    temp.write("more", whole + "x");
    EXPECT_EQ(read_idx(temp.path("more")).status().code(), Code::kDataLoss);
  }
  temp.write("more", gzipped(plain + "x"));
  EXPECT_EQ(read_idx(temp.path("more")).status().code(), Code::kDataLoss);
}

TEST(Idx, EveryFlippedBitIsRefusedOrHarmless) {
  TempDirectory temp;
  const std::string plain = idx_file(0x08, {3, 4}, "abcdefghijkl");
  const std::string packed = gzipped(plain);
  for (const std::string& whole : {plain, packed}) {
    for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
      std::string flipped = whole;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
      temp.write("flip", flipped);
      const auto read = read_idx(temp.path("flip"));
      // gzip checks its content; plain IDX has no checksum, but then only values can differ.
      if (read.ok() && &whole == &packed) {
        EXPECT_EQ(std::string(read->raw_as<char>(), 12), "abcdefghijkl");
      }
      if (read.ok()) {
        EXPECT_LE(read->bytes(), 12u);
      }
    }
  }
}

TEST(Idx, HugePromisesAreRefusedBeforeMemoryIsClaimed) {
  TempDirectory temp;
  temp.write("a", idx_file(0x08, {0xffffffff, 0xffffffff, 0xffffffff}, ""));
  temp.write("b", idx_file(0x0e, {0x40000000, 16}, "few"));
  temp.write("c", gzipped(idx_file(0x08, {0x7fffffff}, "few")));
  for (const char* name : {"a", "b", "c"}) EXPECT_EQ(read_idx(temp.path(name)).status().code(), Code::kDataLoss);
  EXPECT_EQ(read_idx(temp.path("missing")).status().code(), Code::kNotFound);
}

TEST(Mnist, IsNormalisedAndSplit) {
  TempDirectory temp;
  temp.write("train-images-idx3-ubyte.gz",
             gzipped(idx_file(0x08, {3, 2, 2}, std::string("\0\1\2\3\4\5\6\7\xff\xff\xff\xff", 12))));
  temp.write("train-labels-idx1-ubyte", idx_file(0x08, {3}, std::string("\7\0\2", 3)));
  temp.write("t10k-images-idx3-ubyte", idx_file(0x08, {1, 2, 2}, "abcd"));
  temp.write("t10k-labels-idx1-ubyte", idx_file(0x08, {2}, "xy"));
  const auto train = open_dataset(temp.path());
  ASSERT_TRUE(train.ok()) << train.status().to_string();
  EXPECT_EQ((*train)->size(), 3);
  EXPECT_EQ((*train)->classes(), 10);
  EXPECT_EQ((*train)->components()[0].shape, (Shape{2, 2, 1}));
  const std::vector<Tensor> batch = batch_for(**train, 2);
  const std::int64_t indices[] = {2, 0};
  ASSERT_TRUE((*train)->fetch(indices, batch).ok());
  EXPECT_NEAR(batch[0].data<float>()[0], (1.0 - 0.1307) / 0.3081, 1e-5);
  EXPECT_NEAR(batch[0].data<float>()[5], (1.0 / 255 - 0.1307) / 0.3081, 1e-5);
  EXPECT_EQ(batch[1].data<std::int32_t>()[0], 2);
  EXPECT_EQ(batch[1].data<std::int32_t>()[1], 7);
  const std::int64_t outside[] = {0, 3};
  EXPECT_EQ((*train)->fetch(outside, batch).code(), Code::kOutOfRange);
  EXPECT_EQ((*train)->fetch(std::span(indices, 1), batch).code(), Code::kInvalidArgument);
  EXPECT_EQ(open_dataset(temp.path(), {.split = "test"}).status().code(), Code::kInvalidArgument);  // 1 image, 2 labels
  EXPECT_EQ(open_dataset(temp.path(), {.split = "validation"}).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace argosy::data
