#include "argosy/op/file_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "argosy/base/file.h"
#include "argosy/base/test_files.h"

namespace argosy {
namespace {

TEST(FilePolicy, AllowsEverythingByDefault) {
  const FilePolicy all;
  EXPECT_EQ(*all.check("/etc/passwd"), "/etc/passwd");
  EXPECT_EQ(*all.check("file:///tmp/x"), "/tmp/x");
  EXPECT_EQ(all.check("gs://bucket/x").status().code(), Code::kUnimplemented);
}

TEST(FilePolicy, ConfinesToFolders) {
  TempDirectory temp;
  ASSERT_TRUE(make_directories(temp.path("in/below")).ok());
  ASSERT_TRUE(make_directories(temp.path("inside-not")).ok());
  const auto policy = FilePolicy::within({temp.path("in")});
  ASSERT_TRUE(policy.ok()) << policy.status().to_string();
  for (const char* good : {"in/a", "in/below/new/file", "in/below/../b", "in/./x", "in"}) {
    EXPECT_TRUE(policy->check(temp.path(good)).ok()) << good;
  }
  for (const char* bad : {"in/../b", "inside-not/a", "in/below/../../../etc/passwd", "other"}) {
    EXPECT_EQ(policy->check(temp.path(bad)).status().code(), Code::kPermissionDenied) << bad;
  }
  EXPECT_EQ(policy->check("/etc/passwd").status().code(), Code::kPermissionDenied);
  EXPECT_EQ(policy->check("relative").status().code(), Code::kPermissionDenied);
  EXPECT_FALSE(policy->check(std::string_view("a\0b", 3)).ok());
}

TEST(FilePolicy, LinksDoNotLeadOut) {
  TempDirectory temp;
  ASSERT_TRUE(make_directories(temp.path("in")).ok());
  std::filesystem::create_symlink("/etc", temp.path("in/etc"));
  std::filesystem::create_symlink(temp.path("in"), temp.path("way"));
  const auto policy = FilePolicy::within({temp.path("way")});  // the folder itself may be given by a link
  ASSERT_TRUE(policy.ok());
  EXPECT_EQ(policy->check(temp.path("in/etc/passwd")).status().code(), Code::kPermissionDenied);
  EXPECT_EQ(policy->check(temp.path("in/etc/new")).status().code(), Code::kPermissionDenied);
  EXPECT_TRUE(policy->check(temp.path("way/x")).ok());
  EXPECT_EQ(FilePolicy::within({temp.path("none")}).status().code(), Code::kNotFound);
  EXPECT_EQ(FilePolicy::within({})->check("/tmp/x").status().code(), Code::kPermissionDenied);
}

}  // namespace
}  // namespace argosy
