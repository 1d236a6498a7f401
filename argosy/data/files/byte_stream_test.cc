#include "argosy/data/files/byte_stream.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>

#include "argosy/base/system/test_files.h"

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
