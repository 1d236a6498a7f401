#include "argosy/ops/sets/sets.h"

#include <gtest/gtest.h>

#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

Tensor numbers(std::initializer_list<std::int64_t> v) { return Tensor::vector<std::int64_t>(v); }
Tensor pairs(std::initializer_list<std::int64_t> v) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(v.size() / 2), 2}, v);
}

TEST(SetOps, Operations) {
  const Tensor a = Tensor::of<std::int64_t>({2, 3}, {1, 9, 3, 4, 4, 5}),
               b = Tensor::of<std::int64_t>({2, 2}, {9, 1, 7, 4});
  check({.op = "DenseToDenseSetOperation",
         .inputs = {a, b},
         .attrs = {{"set_operation", "intersection"}},
         .expect = {pairs({0, 0, 0, 1, 1, 0}), numbers({1, 9, 4}), numbers({2, 2})},
         .other_dtypes = false});
  for (const char* operation : {"a-b", "b-a", "intersection", "union"}) {
    const AttrMap attrs = {{"set_operation", operation}};
    check({.op = "DenseToDenseSetOperation", .inputs = {a, b}, .attrs = attrs, .other_dtypes = false});
    check({.op = "DenseToDenseSetOperation",
           .inputs = {Tensor::of<std::string>({1, 2}, {"b", "a"}), Tensor::of<std::string>({1, 2}, {"c", "a"})},
           .attrs = attrs,
           .other_dtypes = false});
    check({.op = "DenseToDenseSetOperation",
           .inputs = {Tensor::zeros(DType::kInt32, {2, 0}), Tensor::zeros(DType::kInt32, {2, 0})},
           .attrs = attrs,
           .other_dtypes = false});
    check({.op = "DenseToSparseSetOperation",
           .inputs = {a, pairs({0, 0, 1, 0, 1, 2}), numbers({9, 8, 4}), numbers({2, 3})},
           .attrs = attrs,
           .other_dtypes = false});
    check({.op = "SparseToSparseSetOperation",
           .inputs = {pairs({0, 0, 2, 0}), numbers({9, 8}), numbers({4, 3}), pairs({0, 0, 1, 0}), numbers({9, 8}),
                      numbers({4, 5})},
           .attrs = attrs,
           .other_dtypes = false});
  }
  check({.op = "SetSize",
         .inputs = {pairs({0, 0, 0, 1, 1, 0}), numbers({1, 1, 2}), numbers({3, 2})},
         .expect = {Tensor::vector<std::int32_t>({1, 1, 0})},
         .other_dtypes = false});
}

TEST(SetOps, Refuses) {
  const auto refuses = [](const char* op, std::vector<Tensor> inputs, AttrMap attrs) {
    check({.op = op, .inputs = std::move(inputs), .attrs = std::move(attrs), .error = Code::kInvalidArgument});
  };
  const Tensor a = Tensor::of<std::int64_t>({2, 2}, {1, 9, 3, 4});
  refuses("DenseToDenseSetOperation", {a, a}, {{"set_operation", "xor"}});
  refuses("DenseToDenseSetOperation", {a, a.rows(0, 1).clone()}, {{"set_operation", "union"}});
  refuses("DenseToDenseSetOperation", {numbers({1}), numbers({1})}, {{"set_operation", "union"}});
  refuses("SetSize", {pairs({0, 0, 1, 1, 0, 1}), numbers({1, 1, 2}), numbers({3, 2})}, {});
  refuses("SetSize", {pairs({0, 0, 3, 1}), numbers({1, 2}), numbers({3, 2})}, {});
  refuses("SetSize", {Tensor::of<std::int64_t>({1, 1}, {0}), numbers({1}), numbers({3})}, {});
}

}  // namespace
}  // namespace argosy
