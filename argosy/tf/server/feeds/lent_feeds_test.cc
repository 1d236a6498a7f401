// Feeds in memory that a client shares: what a token means, when the memory is free again, what is refused.
#include "argosy/tf/server/feeds/lent_feeds.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "argosy/base/system/test_files.h"
#include "argosy/tf/server/testing/lent_block.h"

namespace argosy::tf {
namespace {

int mappings(const std::string& name) {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find("memfd:argosy-feed-" + name + " ") != line.npos;
  return count;
}

TEST(LentFeeds, ATokenIsATensorOverTheClientsMemory) {
  LentFeeds feeds("s3cret");
  LentBlock block("b0");
  for (int i = 0; i < 4; ++i) block.floats()[i] = static_cast<float>(i) + 0.5f;
  auto found = feeds.find(block.token("1 2 2"));
  ASSERT_TRUE(found && found->ok()) << (found ? found->status().to_string() : "no token");
  const Tensor tensor = *std::move(*found);
  EXPECT_EQ(tensor.to_string(), Tensor::of<float>({2, 2}, {0.5f, 1.5f, 2.5f, 3.5f}).to_string());
  tensor.data<float>()[0] = 9;
  EXPECT_EQ(block.floats()[0], 9);
  const auto scalar = feeds.find(block.token("1"));
  ASSERT_TRUE(scalar && scalar->ok());
  EXPECT_EQ((*scalar)->shape().rank(), 0);
  const auto empty = feeds.find(block.token("1 0 5"));
  ASSERT_TRUE(empty && empty->ok());
  EXPECT_EQ(mappings("b0"), 2);  // this test's, and one for all tensors
}

TEST(LentFeeds, TheMemoryIsInUseUntilTheLastCopyIsGone) {
  LentFeeds feeds("s3cret");
  LentBlock block("b1");
  Tensor first = *std::move(*feeds.find(block.token("1 4")));
  EXPECT_EQ(block.users(), 1);
  EXPECT_TRUE(first.unique());
  Tensor view = first.rows(1, 2);
  Tensor second = *std::move(*feeds.find(block.token("3 4")));
  EXPECT_EQ(block.users(), 2);
  first = second = Tensor();
  EXPECT_EQ(block.users(), 1);
  view = Tensor();
  EXPECT_EQ(block.users(), 0);
}

TEST(LentFeeds, ATensorOutlivesTheClientAndTheServersTable) {
  auto feeds = std::make_unique<LentFeeds>("s3cret");
  LentBlock block("b2");
  block.floats()[3] = 7;
  const Tensor tensor = *std::move(*feeds->find(block.token("1 4")));
  feeds.reset();
  block.close();
  EXPECT_EQ(tensor.data<float>()[3], 7);
}

TEST(LentFeeds, MemoryThatItsClientClosedIsGivenUpWithTheNext) {
  LentFeeds feeds("s3cret");
  LentBlock old("b3"), next("b4");
  ASSERT_TRUE(feeds.find(old.token("1 4"))->ok());
  EXPECT_EQ(mappings("b3"), 2);
  old.close();
  EXPECT_EQ(mappings("b3"), 1);
  ASSERT_TRUE(feeds.find(next.token("1 4"))->ok());
  EXPECT_EQ(mappings("b3"), 0);
}

TEST(LentFeeds, ASweepUnmapsWhatItsClientClosed) {
  LentFeeds feeds("s3cret");
  LentBlock block("b10");
  ASSERT_TRUE(feeds.find(block.token("1 4"))->ok());
  feeds.sweep();
  EXPECT_EQ(mappings("b10"), 2);
  block.close();
  feeds.sweep();
  EXPECT_EQ(mappings("b10"), 0);
}

TEST(LentFeeds, AFolderWithoutASecretLendsNothing) {
  const TempDirectory folder;
  EXPECT_EQ(LentFeeds::of_folder(folder.path()), nullptr);
  std::ofstream(folder.path() + "/secret") << "s3cret";
  EXPECT_NE(LentFeeds::of_folder(folder.path()), nullptr);
}

TEST(LentFeeds, MemoryOfOtherProgramsIsRefused) {
  LentFeeds feeds("s3cret");
  const int file = ::memfd_create("argosy-mail", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(::ftruncate(file, 8192), 0);
  ASSERT_EQ(::fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK), 0);
  const auto found = feeds.find(str_cat("argosy-feed s3cret ", ::getpid(), " ", file, " argosy-mail 1 4"));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->status().id(), "ARG-FEED-005");
  ::close(file);
}

TEST(LentFeeds, SomeSixtyFilesAreKeptAtMost) {
  LentFeeds feeds("s3cret");
  std::vector<std::unique_ptr<LentBlock>> blocks;
  int mapped = 0;
  for (int i = 0; i < 100; ++i) {
    blocks.push_back(std::make_unique<LentBlock>(str_cat("many", i)));
    ASSERT_TRUE(feeds.find(blocks[static_cast<std::size_t>(i)]->token("1 4"))->ok());
    ASSERT_TRUE(feeds.find(blocks[0]->token("1 4"))->ok());  // in use: never the oldest
  }
  for (int i = 0; i < 100; ++i) mapped += mappings(str_cat("many", i)) - 1;
  EXPECT_EQ(mapped, 64);
  EXPECT_EQ(mappings("many0"), 2);
}

TEST(LentFeeds, OtherTextIsNoToken) {
  LentFeeds feeds("s3cret");
  const LentBlock block("b5");
  for (const std::string& text : {std::string(), std::string("hello"), std::string("argosy-feed"),
                                  str_cat("argosy-feed other", block.token("1 4").substr(18))}) {
    EXPECT_FALSE(feeds.find(text)) << text;
  }
}

TEST(LentFeeds, WhatCannotBeTrustedIsRefusedByName) {
  LentFeeds feeds("s3cret");
  const LentBlock block("b6"), open("b7", 4, 0), shrinkable("b8", 4, F_SEAL_GROW);
  const int file = ::open("/dev/zero", O_RDWR | O_CLOEXEC);
  const std::string process = std::to_string(::getpid());
  const std::vector<std::string> refused = {block.token("1 5"),
                                            block.token("1 2 3"),
                                            block.token("9 3"),  // too large
                                            block.token("7 1"),
                                            block.token("10 4"),
                                            block.token("20 1"),
                                            block.token("21 1"),
                                            block.token("0 1"),
                                            block.token("99 1"),
                                            block.token("1 -1"),
                                            block.token("1 4 x"),
                                            block.token("1  4"),
                                            block.token("1 4 "),
                                            block.token("1 4611686018427387904 4"),
                                            block.token("1 9223372036854775807"),
                                            block.token("1 99999999999999999999"),
                                            block.token(""),
                                            open.token("1 4"),
                                            shrinkable.token("1 4"),
                                            "argosy-feed s3cret " + process + " 999999 argosy-feed-b9 1 4",
                                            "argosy-feed s3cret 99999999 0 argosy-feed-b9 1 4",
                                            str_cat("argosy-feed s3cret ", process, " ", file, " argosy-feed-b9 1 4"),
                                            str_cat("argosy-feed s3cret ", process, " ", file, " zero 1 4"),
                                            std::string("argosy-feed s3cret "),
                                            "argosy-feed s3cret " + process,
                                            "argosy-feed s3cret " + process + " " + std::to_string(file)};
  for (const std::string& text : refused) {
    const auto found = feeds.find(text);
    ASSERT_TRUE(found) << text;
    ASSERT_FALSE(found->ok()) << text;
    EXPECT_THAT(found->status().to_string(), testing::HasSubstr("ARG-FEED-005")) << text;
  }
  ::close(file);
  EXPECT_EQ(block.users(), 0);
}

}  // namespace
}  // namespace argosy::tf
