#include "argosy/device/cuda/runtime_compiler.h"

#include <gmock/gmock.h>

namespace argosy::cuda {

namespace {

using testing::HasSubstr;

TEST(RuntimeCompiler, CompilesForTheCardOrTheNearestThatRunsThere) {
  const int known[] = {75, 80, 86, 90, 100, 120};
  EXPECT_EQ(compile_target(known, 9, 0), (CompileTarget{90, false}));
  EXPECT_EQ(compile_target(known, 8, 9), (CompileTarget{86, false}));
  EXPECT_EQ(compile_target(known, 10, 3), (CompileTarget{100, false}));
  EXPECT_EQ(compile_target(known, 11, 0), (CompileTarget{100, true}));
  EXPECT_EQ(compile_target(known, 13, 0), (CompileTarget{120, true}));
  EXPECT_EQ(compile_target(known, 6, 1), CompileTarget{});
  EXPECT_EQ(compile_target({}, 9, 0), CompileTarget{});
}

TEST(RuntimeCompiler, NvrtcWritesPtxForCardsItDoesNotKnowYetAndRefusesThoseItNoLongerKnows) {
  const auto nvrtc = open_nvrtc();
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().to_string();
  const std::string source = "extern \"C\" __global__ void nothing() {}";
  const auto known = (*nvrtc)->compile(source, 9, 0);
  ASSERT_TRUE(known.ok()) << known.status().to_string();
  EXPECT_EQ(known->substr(1, 3), "ELF");
  const auto later = (*nvrtc)->compile(source, 99, 0);
  ASSERT_TRUE(later.ok()) << later.status().to_string();
  EXPECT_THAT(*later, HasSubstr(".entry nothing"));
  const auto old = (*nvrtc)->compile(source, 2, 0);
  ASSERT_FALSE(old.ok());
  EXPECT_THAT(old.status().message(), HasSubstr("compute capability 2.0"));
}

}  // namespace

}  // namespace argosy::cuda
