#include "argosy/op/kernel/file_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "argosy/base/system/confined_path.h"
#include "argosy/base/system/file.h"
#include "argosy/base/system/test_files.h"

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

// Issue 31: of a link to a file that is not there only the link was looked at, not where it leads.
TEST(FilePolicy, DanglingLinksDoNotLeadOut) {
  TempDirectory temp;
  ASSERT_TRUE(make_directories(temp.path("in")).ok());
  std::filesystem::create_symlink("../new", temp.path("in/out"));
  std::filesystem::create_symlink("out", temp.path("in/twice"));
  std::filesystem::create_symlink("loop", temp.path("in/loop"));
  std::filesystem::create_symlink("new", temp.path("in/stays"));
  const auto policy = FilePolicy::within({temp.path("in")});
  for (const char* bad : {"in/out", "in/twice", "in/out/below", "in/none/../out"}) {
    EXPECT_EQ(policy->check(temp.path(bad)).status().code(), Code::kPermissionDenied) << bad;
  }
  EXPECT_EQ(policy->check(temp.path("in/loop")).status().code(), Code::kInvalidArgument);
  ASSERT_TRUE(File::create(*policy->check(temp.path("in/stays"))).ok());
  EXPECT_TRUE(file_exists(temp.path("in/new")));
}

// Issue 31: what is opened is what was asked about, whatever happens to the name in between.
TEST(FilePolicy, LinksThatChangeBetweenQuestionAndOpeningDoNotLeadOut) {
  TempDirectory temp;
  ASSERT_TRUE(make_directories(temp.path("in/folder")).ok());
  ASSERT_TRUE(make_directories(temp.path("out")).ok());
  temp.write("out/file", "secret");
  temp.write("in/folder/file", "public");
  const auto policy = FilePolicy::within({temp.path("in")});
  const auto asked = policy->check(temp.path("in/folder/file"));
  const auto fresh = policy->check(temp.path("in/folder/new"));
  ASSERT_TRUE(asked.ok() && fresh.ok());
  EXPECT_EQ(*read_file(*asked, 100), "public");
  std::filesystem::rename(temp.path("in/folder"), temp.path("in/aside"));
  std::filesystem::create_symlink(temp.path("out"), temp.path("in/folder"));
  EXPECT_EQ(read_file(*asked, 100).status().code(), Code::kPermissionDenied);
  EXPECT_EQ(File::create(*fresh).status().code(), Code::kPermissionDenied);
  EXPECT_EQ(File::append(*asked).status().code(), Code::kPermissionDenied);
  EXPECT_FALSE(file_exists(*asked));
  EXPECT_EQ(make_directories(*fresh).code(), Code::kPermissionDenied);
  EXPECT_EQ(remove_file(*asked).code(), Code::kPermissionDenied);
  EXPECT_EQ(rename_file(*asked, *fresh).code(), Code::kPermissionDenied);
  EXPECT_EQ(temp.read("out/file"), "secret");
  EXPECT_FALSE(file_exists(temp.path("out/new")));
  EXPECT_EQ(plain_path(*asked), temp.path("in/folder/file"));
}

// The same while another thread swaps the link all the time.
TEST(FilePolicy, NoRaceLeadsOut) {
  TempDirectory temp;
  ASSERT_TRUE(make_directories(temp.path("in")).ok());
  temp.write("secret", "secret");
  temp.write("in/file", "public");
  const auto policy = FilePolicy::within({temp.path("in")});
  std::atomic<bool> over{false};
  std::thread swaps([&] {
    for (int i = 0; !over; ++i) {
      std::error_code ignored;
      if (i % 2 == 0) {
        std::filesystem::create_symlink(temp.path("secret"), temp.path("in/next"), ignored);
      } else {
        std::filesystem::copy_file(temp.path("in/file"), temp.path("in/next"), ignored);
      }
      std::filesystem::rename(temp.path("in/next"), temp.path("in/x"), ignored);
    }
  });
  int read = 0, refused = 0;
  for (int i = 0; i < 5000; ++i) {
    const auto path = policy->check(temp.path("in/x"));
    const auto text = path.ok() ? read_file(*path, 100) : Result<std::string>(path.status());
    if (!text.ok()) {
      ++refused;
      continue;
    }
    ++read;
    ASSERT_NE(*text, "secret") << "after " << i;
  }
  over = true;
  swaps.join();
  RecordProperty("read", read);
  RecordProperty("refused", refused);
  EXPECT_EQ(temp.read("secret"), "secret");
}

}  // namespace
}  // namespace argosy
