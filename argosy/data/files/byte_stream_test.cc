#include "argosy/data/files/byte_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>

#include "argosy/base/memory/host_budget.h"
#include "argosy/base/system/test_files.h"
#include "argosy/base/threads/interrupt.h"

namespace argosy::data {
namespace {

std::string deflated(const std::string& text, int bits) {
  z_stream s = {};
  EXPECT_EQ(deflateInit2(&s, Z_DEFAULT_COMPRESSION, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(text.size() + 1000, '\0');
  s.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  s.avail_in = static_cast<uInt>(text.size());
  s.next_out = reinterpret_cast<Bytef*>(out.data());
  s.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&s, Z_FINISH), Z_STREAM_END);
  out.resize(out.size() - s.avail_out);
  deflateEnd(&s);
  return out;
}

std::string write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::vector<std::string> lines(const std::string& path, Compression c, std::size_t buffer) {
  auto stream = ByteStream::open(path, c, buffer);
  EXPECT_TRUE(stream.ok()) << stream.status().to_string();
  std::vector<std::string> all;
  std::string line;
  while (true) {
    const auto some = stream->line(line);
    EXPECT_TRUE(some.ok()) << some.status().to_string();
    if (!some.ok() || !*some) return all;
    all.push_back(line);
  }
}

// A file of zeros, which takes no room on the disk.
std::string zeros(const TempDirectory& dir, std::uintmax_t bytes) {
  std::filesystem::resize_file(write(dir.path() + "/zeros", ""), bytes);
  return dir.path() + "/zeros";
}

TEST(ByteStream, LargeRecordsStopAtTheBudget) {
  const TempDirectory dir;
  const std::string path = zeros(dir, std::uintmax_t{1} << 30);
  const auto limit = host_budget().with_limit(host_budget().in_use() + (16 << 20));
  std::string text;
  auto lines = ByteStream::open(path, Compression::kNone);
  const Status line = lines->line(text).status();
  EXPECT_EQ(line.code(), Code::kResourceExhausted) << line.to_string();
  EXPECT_THAT(line.to_string(), testing::HasSubstr("a line of a file"));
  EXPECT_LE(lines->offset(), 20 << 20);
  auto blocks = ByteStream::open(path, Compression::kNone);
  const Status block = blocks->read(std::size_t{1} << 30, text);
  EXPECT_EQ(block.code(), Code::kResourceExhausted) << block.to_string();
  EXPECT_LE(blocks->offset(), 20 << 20);
  EXPECT_TRUE(ByteStream::open(path, Compression::kNone)->read(8 << 20, text).ok());
}

TEST(ByteStream, ReadingEndsWithItsStep) {
  const TempDirectory dir;
  const std::string path = zeros(dir, std::uintmax_t{1} << 30);
  Cancellation over;
  over.cancel(cancelled("the step is over"));
  const InterruptScope interrupts(&over);
  std::string text;
  auto stream = ByteStream::open(path, Compression::kNone);
  EXPECT_THROW((void)stream->line(text), Interrupted);
}

TEST(ByteStream, SkipsToAnyPlace) {
  const TempDirectory dir;
  const std::string path = write(dir.path() + "/a", "0123456789");
  for (const std::size_t buffer : {0, 3}) {
    auto stream = ByteStream::open(path, Compression::kNone, buffer);
    std::string text;
    ASSERT_TRUE(stream->read(1, text).ok());
    EXPECT_EQ(*stream->skip(1), 1);
    EXPECT_EQ(*stream->skip(5), 5);
    ASSERT_TRUE(stream->read(1, text).ok());
    EXPECT_EQ(text, "7");
    EXPECT_EQ(*stream->skip(INT64_MAX), 2);
    EXPECT_EQ(stream->offset(), 10);
    EXPECT_EQ(*stream->skip(1), 0);
  }
}

TEST(ByteStream, GivesLinesHoweverTheFileIsCut) {
  const TempDirectory dir;
  const std::string text = "one\n\ntwo\r\na longer third line\nlast";
  const std::vector<std::string> expected = {"one", "", "two\r", "a longer third line", "last"};
  for (const std::size_t buffer : {0, 1, 3, 7}) {
    EXPECT_EQ(lines(write(dir.path() + "/a", text), Compression::kNone, buffer), expected) << buffer;
    EXPECT_EQ(lines(write(dir.path() + "/b", deflated(text, MAX_WBITS)), Compression::kZlib, buffer), expected);
    EXPECT_EQ(lines(write(dir.path() + "/c", deflated(text, 16 + MAX_WBITS)), Compression::kGzip, buffer), expected);
  }
  const std::string two = deflated("x\n", 16 + MAX_WBITS) + deflated("y\n", 16 + MAX_WBITS);
  EXPECT_EQ(lines(write(dir.path() + "/d", two), Compression::kGzip, 0), (std::vector<std::string>{"x", "y"}));
  EXPECT_TRUE(lines(write(dir.path() + "/e", ""), Compression::kGzip, 0).empty());
}

TEST(ByteStream, ReadsAndSkips) {
  const TempDirectory dir;
  auto stream = ByteStream::open(write(dir.path() + "/a", "0123456789"), Compression::kNone, 4);
  ASSERT_TRUE(stream.ok());
  std::string part;
  EXPECT_EQ(*stream->skip(3), 3);
  ASSERT_TRUE(stream->read(5, part).ok());
  EXPECT_EQ(part, "34567");
  EXPECT_EQ(stream->offset(), 8);
  ASSERT_TRUE(stream->read(5, part).ok());
  EXPECT_EQ(part, "89");
  EXPECT_EQ(*stream->skip(3), 0);
}

TEST(ByteStream, TellsOfDamage) {
  const TempDirectory dir;
  EXPECT_EQ(ByteStream::open(dir.path() + "/none", Compression::kNone).status().code(), Code::kNotFound);
  std::string line;
  auto garbage = ByteStream::open(write(dir.path() + "/a", "not gzip at all"), Compression::kGzip);
  ASSERT_TRUE(garbage.ok());
  EXPECT_EQ(garbage->line(line).status().code(), Code::kDataLoss);
  const std::string whole = deflated(std::string(5000, 'x') + "\n", MAX_WBITS);
  auto cut = ByteStream::open(write(dir.path() + "/b", whole.substr(0, whole.size() - 6)), Compression::kZlib);
  ASSERT_TRUE(cut.ok());
  EXPECT_EQ(cut->line(line).status().code(), Code::kDataLoss);
}

}  // namespace
}  // namespace argosy::data
