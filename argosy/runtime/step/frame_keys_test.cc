// Keys that two tasks of TensorFlow 2.21 gave the values of a loop in a loop (TF_CPP_VMODULE=sendrecv_ops=2).
#include "argosy/runtime/step/frame_keys.h"

#include <gtest/gtest.h>

namespace argosy {
namespace {

TEST(FrameKeys, AreTensorFlows) {
  const std::uint64_t outer = child_frame_key(0, 0, frame_name_key("outer/while_context"));
  EXPECT_EQ(outer, 16151483404557480959u);
  const std::uint64_t inner = frame_name_key("outer/inner/while_context");
  EXPECT_EQ(child_frame_key(outer, 0, inner), 10647713286725882191u);
  EXPECT_EQ(child_frame_key(outer, 1, inner), 10647713286725883216u);
  EXPECT_EQ(child_frame_key(outer, 2, inner), 10647713286725884237u);
  EXPECT_EQ(child_frame_key(outer, 3, inner), 10647713286725885262u);
}

}  // namespace
}  // namespace argosy
