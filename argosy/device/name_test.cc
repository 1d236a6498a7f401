#include "argosy/device/name.h"

#include <gtest/gtest.h>

namespace argosy {
namespace {

TEST(DeviceName, EverySpellingReadsAsOneName) {
  struct Case {
    const char* text;
    const char* canonical;
    const char* brief;
  };
  const Case cases[] = {
      {"", "", "*"},
      {"/", "", "*"},
      {"gpu:1", "/device:GPU:1", "gpu:1"},
      {"/gpu:1", "/device:GPU:1", "gpu:1"},
      {"GPU:1", "/device:GPU:1", "gpu:1"},
      {"cpu", "/device:CPU:*", "cpu"},
      {"/device:GPU", "/device:GPU:*", "gpu"},
      {"/device:GPU:*", "/device:GPU:*", "gpu"},
      {"/device:*:2", "/device:*:2", "*:2"},
      {"/device:tpu:3", "/device:TPU:3", "tpu:3"},
      {"/job:worker", "/job:worker", "*"},
      {"/job:*/task:4", "/task:4", "*"},
      {"/task:0/job:ps/cpu:0", "/job:ps/task:0/device:CPU:0", "cpu:0"},
      {"/job:localhost/replica:0/task:0/device:GPU:12", "/job:localhost/replica:0/task:0/device:GPU:12", "gpu:12"},
  };
  for (const Case& c : cases) {
    const Result<DeviceName> name = DeviceName::parse(c.text);
    ASSERT_TRUE(name.ok()) << c.text << ": " << name.status().to_string();
    EXPECT_EQ(name->to_string(), c.canonical) << c.text;
    EXPECT_EQ(name->short_string(), c.brief) << c.text;
    EXPECT_EQ(*DeviceName::parse(name->to_string()), *name) << c.text;
  }
}

TEST(DeviceName, BadTextIsNamed) {
  for (const char* text : {"gpu:", "gpu:x", "gpu:-1", "gpu:1x", "gpu:99999999999", "//", "/job:", "/job:1st", "/device",
                           "/job:a/job:b", "gpu:0/cpu:0", "worker:0", "/task:", "gpu:0/", "gpu 0", "/device:GPU:1:2"}) {
    const Result<DeviceName> name = DeviceName::parse(text);
    ASSERT_FALSE(name.ok()) << text;
    EXPECT_EQ(name.status().code(), Code::kInvalidArgument);
    EXPECT_NE(name.status().message().find(text), std::string::npos) << name.status().to_string();
  }
  EXPECT_NE(DeviceName::parse("/jbo:worker").status().message().find("\"job\""), std::string::npos);
}

TEST(DeviceName, PatternsMatchFillAndMerge) {
  const DeviceName full = *DeviceName::parse("/job:worker/replica:0/task:3/device:GPU:1");
  for (const char* pattern : {"", "/job:worker", "gpu", "gpu:1", "/task:3/gpu:1", "/device:*:1"}) {
    EXPECT_TRUE(DeviceName::parse(pattern)->matches(full)) << pattern;
  }
  for (const char* pattern : {"/job:ps", "cpu", "gpu:0", "/task:2/gpu:1", "/replica:1"}) {
    EXPECT_FALSE(DeviceName::parse(pattern)->matches(full)) << pattern;
  }
  EXPECT_EQ(DeviceName::parse("cpu:0")->filled_from(full).to_string(), "/job:worker/replica:0/task:3/device:CPU:0");
  EXPECT_EQ(DeviceName::parse("/task:3")->merged_with(*DeviceName::parse("gpu:1")).value().to_string(),
            "/task:3/device:GPU:1");
  const Status conflict = DeviceName::parse("gpu:0")->merged_with(*DeviceName::parse("/task:1/gpu:1")).status();
  EXPECT_EQ(conflict.code(), Code::kInvalidArgument);
  EXPECT_NE(conflict.message().find("disagree on the id"), std::string::npos);
}

}  // namespace
}  // namespace argosy
