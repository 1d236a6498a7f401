#include <gtest/gtest.h>

#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

Tensor bools(Shape shape, std::initializer_list<bool> v) { return Tensor::of<bool>(std::move(shape), v); }

TEST(SelectOps, EveryWayOfBroadcasting) {
  const Tensor t = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor e = Tensor::of<float>({2, 3}, {-1, -2, -3, -4, -5, -6});
  const Tensor mask = bools({2, 3}, {true, false, true, false, false, true});
  for (const char* op : {"Select", "SelectV2"}) {
    check({.op = op, .inputs = {mask, t, e}, .expect = {Tensor::of<float>({2, 3}, {1, -2, 3, -4, -5, 6})}});
    check({.op = op, .inputs = {Tensor::scalar(false), t, e}, .expect = {e}});
    check({.op = op,
           .inputs = {Tensor::scalar(true), Tensor::scalar(1.0f), Tensor::scalar(2.0f)},
           .expect = {Tensor::scalar(1.0f)}});
    check({.op = op,
           .inputs = {Tensor::zeros(DType::kBool, {0, 3}), Tensor::zeros(DType::kFloat32, {0, 3}),
                      Tensor::zeros(DType::kFloat32, {0, 3})}});
  }
  check({.op = "Select",
         .inputs = {bools({2}, {false, true}), t, e},
         .expect = {Tensor::of<float>({2, 3}, {-1, -2, -3, 4, 5, 6})}});
  check({.op = "SelectV2",
         .inputs = {bools({3}, {false, true, true}), t, Tensor::scalar(0.0f)},
         .expect = {Tensor::of<float>({2, 3}, {0, 2, 3, 0, 5, 6})}});
  check({.op = "SelectV2", .inputs = {bools({2, 1}, {false, true}), t, e}});
  check({.op = "SelectV2",
         .inputs = {bools({2, 1}, {false, true}), Tensor::vector<float>({1, 2}), Tensor::scalar(9.0f)},
         .expect = {Tensor::of<float>({2, 2}, {9, 9, 1, 2})}});
  check({.op = "SelectV2",
         .inputs = {bools({2, 1, 1}, {true, false}), random_tensor(DType::kFloat32, {3, 1}),
                    random_tensor(DType::kFloat32, {1, 4})}});
  check({.op = "SelectV2", .inputs = {mask, Tensor::scalar(1.0f), e}});
  check({.op = "SelectV2", .inputs = {mask, Tensor::scalar(1.0f), Tensor::scalar(2.0f)}});
  check({.op = "SelectV2",
         .inputs = {bools({2}, {false, true}), Tensor::vector<std::string>({"a", "b"}), Tensor::scalar("none")},
         .expect = {Tensor::vector<std::string>({"none", "b"})}});
}

TEST(SelectOps, Refusals) {
  const Tensor t = Tensor::vector<float>({1, 2, 3});
  const Tensor two = Tensor::vector<float>({1, 2});
  check({.op = "Select", .inputs = {bools({2}, {true, true}), t, t}, .error = Code::kInvalidArgument});
  check({.op = "Select", .inputs = {bools({3}, {true, true, true}), t, two}, .error = Code::kInvalidArgument});
  check({.op = "Select",
         .inputs = {bools({1}, {true}), Tensor::scalar(1.f), Tensor::scalar(1.f)},
         .error = Code::kInvalidArgument});
  check({.op = "SelectV2", .inputs = {bools({2}, {true, true}), t, t}, .error = Code::kInvalidArgument});
  check({.op = "SelectV2", .inputs = {bools({3}, {true, true, true}), t, two}, .error = Code::kInvalidArgument});
  check({.op = "ClipByValue", .inputs = {t, two, two}, .error = Code::kInvalidArgument});
}

TEST(SelectOps, ClipByValueOfComplexNumbers) {
  using C = std::complex<float>;
  const auto low = Tensor::scalar(C(0, 1)), high = Tensor::scalar(C(2, 3));
  check({.op = "ClipByValue",
         .inputs = {Tensor::vector<C>({{1, 2}, {3, -1}, {-2, 5}}), low, high},
         .expect = {Tensor::vector<C>({{1, 2}, {2, 1}, {0, 3}})},
         .check_gradient = false});
  check({.op = "ClipByValue",
         .inputs = {Tensor::vector<float>({}), Tensor::scalar(0.f), Tensor::vector<float>({1})},
         .error = Code::kInvalidArgument});
}

TEST(SelectOps, ClipByValue) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = Tensor::vector<float>({-3, -0.5, 0.5, 3});
  const auto number = [](float v) { return Tensor::scalar(v); };
  check({.op = "ClipByValue",
         .inputs = {x, number(-1), number(1)},
         .expect = {Tensor::vector<float>({-1, -0.5, 0.5, 1})}});
  check(
      {.op = "ClipByValue", .inputs = {x, Tensor::vector<float>({-5, 0, 0, 0}), Tensor::vector<float>({-4, 1, 1, 4})}});
  check({.op = "ClipByValue", .inputs = {x, number(-1), Tensor::vector<float>({1, 2, 2, 2})}});
  check({.op = "ClipByValue", .inputs = {x, Tensor::vector<float>({-1, -1, -1, -1}), number(2)}});
  check({.op = "ClipByValue",
         .inputs = {Tensor::vector<float>({nan, 1, 1}), Tensor::scalar(0.0f), Tensor::scalar(2.0f)},
         .expect = {Tensor::vector<float>({nan, 1, 1})},
         .check_gradient = false,
         .unlike_tensorflow = "NaN becomes a limit in float64 and 16-bit floats, and stays in float32"});
  check({.op = "ClipByValue",
         .inputs = {Tensor::vector<std::int32_t>({-3, 5}), Tensor::scalar(0), Tensor::scalar(2)},
         .expect = {Tensor::vector<std::int32_t>({0, 2})}});
  check({.op = "ClipByValue",
         .inputs = {x, number(2), number(1)},
         .expect = {Tensor::vector<float>({2, 2, 2, 2})},
         .check_gradient = false});
  check({.op = "ClipByValue", .inputs = {Tensor::zeros(DType::kFloat32, {0}), number(0), number(1)}});
}

}  // namespace
}  // namespace argosy
