#include "argosy/base/system/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "argosy/base/system/test_files.h"

namespace argosy {
namespace {

class FileTest : public testing::Test {
 protected:
  std::string path(std::string_view name) const { return directory_.path(name); }
  TempDirectory directory_;
};

TEST_F(FileTest, WritesAndReadsBack) {
  {
    File file = *File::create(path("a"));
    ASSERT_TRUE(file.write("hello ").ok());
    ASSERT_TRUE(file.write("world").ok());
    ASSERT_TRUE(file.write_at(0, "H", 1).ok());
    ASSERT_TRUE(file.sync().ok());
    ASSERT_TRUE(file.close().ok());
  }
  EXPECT_EQ(*read_file(path("a"), 100), "Hello world");
  EXPECT_EQ(read_file(path("a"), 10).status().code(), Code::kResourceExhausted);
  File more = *File::append(path("a"));
  ASSERT_TRUE(more.write("!").ok());
  EXPECT_EQ(*File::open(path("a"))->size(), 12);
  EXPECT_EQ(*list_directory(directory_.path()), std::vector<std::string>{"a"});
  ASSERT_TRUE(rename_file(path("a"), path("b")).ok());
  ASSERT_TRUE(sync_directory(directory_.path()).ok());
  EXPECT_FALSE(file_exists(path("a")));
  ASSERT_TRUE(remove_file(path("b")).ok());
  EXPECT_TRUE(remove_file(path("b")).ok());
}

TEST_F(FileTest, ErrorsSayWhatIsWrong) {
  EXPECT_EQ(File::open(path("missing")).status().code(), Code::kNotFound);
  EXPECT_EQ(File::open(directory_.path()).status().code(), Code::kInvalidArgument);
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  EXPECT_EQ(File::open(path("fifo")).status().code(), Code::kInvalidArgument);
  ASSERT_TRUE(File::create(path("short")).ok());
  char byte = 0;
  const Status end = File::open(path("short"))->read_at(5, &byte, 1);
  EXPECT_EQ(end.code(), Code::kDataLoss);
  EXPECT_NE(end.message().find("byte 5"), std::string::npos) << end.to_string();
}

TEST(Paths, AreJoinedAndSplit) {
  EXPECT_EQ(parent_directory("a/b/c"), "a/b");
  EXPECT_EQ(parent_directory("c"), ".");
  EXPECT_EQ(parent_directory("/c"), "/");
  EXPECT_EQ(join_path("a/", "b"), "a/b");
  EXPECT_EQ(join_path("", "b"), "b");
}

}  // namespace
}  // namespace argosy
