#include "argosy/passes/fuse/fuse_bias.h"

#include "argosy/testing/expect_rewrite.h"

namespace argosy {
namespace {

TEST(FuseBias, TheProductTakesInBiasAndActivation) {
  expect_rewrite(fuse_bias, R"(
    x = Placeholder [dtype=float, shape=shape[2,3]]
    w = Placeholder [dtype=float, shape=shape[3,4]]
    bias = Placeholder [dtype=float, shape=shape[4]]
    m = MatMul(x, w)
    b = BiasAdd(m, bias)
    y = Relu(b)
    -> y)",
                 R"(
    x = Placeholder [dtype=float, shape=shape[2,3]]
    w = Placeholder [dtype=float, shape=shape[3,4]]
    bias = Placeholder [dtype=float, shape=shape[4]]
    y = _FusedMatMul(x, w, bias) [num_args=1, fused_ops=["BiasAdd", "Relu"]]
    -> y)");
}

TEST(FuseBias, AVectorAddedAlongTheLastAxisIsABias) {
  expect_rewrite(fuse_bias, R"(
    x = Placeholder [dtype=float, shape=shape[2,3]]
    w = Placeholder [dtype=float, shape=shape[4,3]]
    bias = Placeholder [dtype=float, shape=shape[4]]
    m = MatMul(x, w) [transpose_b=true]
    y = AddV2(bias, m)
    -> y)",
                 R"(
    x = Placeholder [dtype=float, shape=shape[2,3]]
    w = Placeholder [dtype=float, shape=shape[4,3]]
    bias = Placeholder [dtype=float, shape=shape[4]]
    y = _FusedMatMul(x, w, bias) [transpose_b=true, num_args=1, fused_ops=["BiasAdd"]]
    -> y)");
}

TEST(FuseBias, AProductThatOthersReadIsLeftAlone) {
  expect_left_alone(fuse_bias, R"(
    x = Placeholder [dtype=float, shape=shape[2,3]]
    w = Placeholder [dtype=float, shape=shape[3,4]]
    bias = Placeholder [dtype=float, shape=shape[4]]
    m = MatMul(x, w)
    y = BiasAdd(m, bias)
    -> y, m)");
}

TEST(FuseBias, ABiasOfTheColumnsOfChannelsFirstIsLeftAlone) {
  expect_left_alone(fuse_bias, R"(
    x = Placeholder [dtype=float, shape=shape[2,3,4,4]]
    w = Placeholder [dtype=float, shape=shape[1,1,3,4]]
    bias = Placeholder [dtype=float, shape=shape[4]]
    m = Conv2D(x, w) [strides=[1,1,1,1], padding="VALID", data_format="NCHW"]
    y = BiasAdd(m, bias)
    -> y)");
}

TEST(FuseBias, ABiasOnAnotherDeviceIsLeftAlone) {
  expect_left_alone(fuse_bias, R"(
    x = Placeholder [dtype=float, shape=shape[2,3]]
    w = Placeholder [dtype=float, shape=shape[3,4]]
    bias = Placeholder [dtype=float, shape=shape[4]]
    m = MatMul(x, w) @/gpu:0
    y = BiasAdd(m, bias) @/gpu:1
    -> y)");
}

}  // namespace
}  // namespace argosy
