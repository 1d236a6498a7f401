#include "argosy/ops/inplace/inplace.h"

#include <gtest/gtest.h>

#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

Tensor rows(std::initializer_list<std::int32_t> v) { return Tensor::vector<std::int32_t>(v); }
const Tensor kX = Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
const Tensor kV = Tensor::of<float>({2, 2}, {10, 20, 30, 40});

TEST(Inplace, Rows) {
  check({.op = "InplaceUpdate",
         .inputs = {kX, rows({0, 2}), kV},
         .expect = {Tensor::of<float>({3, 2}, {10, 20, 3, 4, 30, 40})}});
  check({.op = "InplaceAdd",
         .inputs = {kX, rows({0, 2}), kV},
         .expect = {Tensor::of<float>({3, 2}, {11, 22, 3, 4, 35, 46})}});
  check({.op = "InplaceSub",
         .inputs = {kX, rows({0, 2}), kV},
         .expect = {Tensor::of<float>({3, 2}, {-9, -18, 3, 4, -25, -34})}});
  for (const char* op : {"InplaceUpdate", "InplaceAdd", "InplaceSub"}) {
    check({.op = op, .inputs = {kX, rows({1, 1}), kV}});   // the last one stays, or both count
    check({.op = op, .inputs = {kX, rows({-1, 7}), kV}});  // modulo the rows
    check({.op = op, .inputs = {kX, rows({}), Tensor::zeros(DType::kFloat32, {0, 2})}});
    check({.op = op, .inputs = {kX, rows({2, 0, 1}), kX}});  // the rows of x itself, moved
  }
  const auto words = [](std::initializer_list<std::string> w) { return Tensor::of<std::string>({2, 1}, w); };
  check({.op = "InplaceUpdate",
         .inputs = {words({"a", "b"}), rows({1, 0}), words({"c", "d"})},
         .expect = {words({"d", "c"})},
         .other_dtypes = false,
         .unlike_tensorflow = ""});
}

TEST(Inplace, Refuses) {
  const auto refuses = [](std::vector<Tensor> x, const char* why, std::string unlike = "") {
    check({.op = "InplaceUpdate",
           .inputs = std::move(x),
           .error = Code::kInvalidArgument,
           .error_contains = why,
           .unlike_tensorflow = std::move(unlike)});
  };
  refuses({kX, Tensor::scalar(0), kV}, "i must be a vector");
  refuses({kX, rows({0}), Tensor::vector<float>({1, 2})}, "x and v shape doesn't match (ranks differ)");
  refuses({kX, rows({0}), Tensor::of<float>({1, 1}, {1})}, "x and v shape doesn't match at index 1");
  refuses({kX, rows({0}), kV}, "i and x shape doesn't match at index 0");
  refuses({Tensor::zeros(DType::kFloat32, {0, 2}), rows({0, 1}), kV}, "no rows", "divides by zero, or writes outside");
  check({.op = "InplaceAdd",
         .inputs = {Tensor::of<bool>({1}, {true}), rows({0}), Tensor::of<bool>({1}, {true})},
         .error = Code::kUnimplemented});
}

}  // namespace
}  // namespace argosy
