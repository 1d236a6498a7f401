#include <gtest/gtest.h>

#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

using Types = std::vector<DType>;
using enum DType;
Tensor ints(const std::vector<std::int64_t>& v) { return Tensor::vector(v); }

// Two rows of two and one features; a dense matrix of two and two.
const Tensor kIndices = Tensor::of<std::int64_t>({3, 2}, {0, 0, 0, 1, 1, 0});
const Tensor kShape = ints({2, 2});
const Tensor kStrings = Tensor::vector<std::string>({"a", "b", "c"});
const Tensor kDense = Tensor::of<std::string>({2, 2}, {"x", "y", "z", "w"});
const Tensor kNumbers = ints({7, 8, -9});
const Tensor kDenseNumbers = Tensor::of<std::int64_t>({2, 2}, {1, 2, -3, 4});
const Tensor kWhere = Tensor::of<std::int64_t>({6, 2}, {0, 0, 0, 1, 0, 2, 0, 3, 1, 0, 1, 1});

AttrMap types(DType sparse, DType dense) {
  return {{"N", 1}, {"sparse_types", Types{sparse}}, {"dense_types", Types{dense}}};
}

TEST(SparseCross, Strings) {
  const auto crossed = [](const Tensor& a, const Tensor& b, std::initializer_list<std::string> y) {
    check({.op = "SparseCrossV2",
           .inputs = {kIndices, a, kShape, b, Tensor::scalar("-")},
           .attrs = types(a.dtype(), b.dtype()),
           .expect = {kWhere, Tensor::vector<std::string>(y), ints({2, 4})}});
  };
  crossed(kStrings, kDense, {"a-x", "a-y", "b-x", "b-y", "c-z", "c-w"});
  crossed(kNumbers, kDenseNumbers, {"7-1", "7-2", "8-1", "8-2", "-9--3", "-9-4"});
  AttrMap attrs = types(kString, kString);
  for (const auto& [name, value] :
       std::initializer_list<std::pair<const char*, AttrValue>>{{"hashed_output", false},
                                                                {"num_buckets", 0},
                                                                {"hash_key", 0},
                                                                {"out_type", kString},
                                                                {"internal_type", kString}}) {
    attrs.set(name, value);
  }
  check({.op = "SparseCross",
         .inputs = {kIndices, kStrings, kShape, kDense},
         .attrs = attrs,
         .expect = {kWhere, Tensor::vector<std::string>({"a_X_x", "a_X_y", "b_X_x", "b_X_y", "c_X_z", "c_X_w"}),
                    ints({2, 4})}});
  check({.op = "SparseCrossV2",
         .inputs = {kIndices, kStrings, ints({3, 2}), kDense, Tensor::scalar("-")},
         .attrs = types(kString, kString),
         .error = Code::kInvalidArgument});
}

TEST(SparseCross, Hashes) {
  for (const std::int64_t buckets : {0, 100}) {
    for (const auto& [a, b] : {std::pair(kStrings, kDense), {kNumbers, kDenseNumbers}, {kStrings, kDenseNumbers}}) {
      AttrMap attrs = types(a.dtype(), b.dtype());
      for (const bool strong : {false, true}) {
        check({.op = "SparseCrossHashed",
               .inputs = {kIndices, a, kShape, b, Tensor::scalar(buckets), Tensor::scalar(strong), ints({137, 173})},
               .attrs = attrs,
               .unlike_tensorflow = strong && b.dtype() == kInt64 ? "dies of dense numbers under a strong hash" : ""});
      }
      for (const auto& [name, value] :
           std::initializer_list<std::pair<const char*, AttrValue>>{{"hashed_output", true},
                                                                    {"num_buckets", buckets},
                                                                    {"hash_key", std::int64_t{956888297470}},
                                                                    {"out_type", kInt64},
                                                                    {"internal_type", kInt64}}) {
        attrs.set(name, value);
      }
      check({.op = "SparseCross", .inputs = {kIndices, a, kShape, b}, .attrs = attrs});
    }
  }
  check({.op = "SparseCrossHashed",
         .inputs = {kIndices, kStrings, kShape, kDense, Tensor::scalar(std::int64_t{0}), Tensor::scalar(false),
                    ints({1})},
         .attrs = types(kString, kString),
         .error = Code::kInvalidArgument});
}

}  // namespace
}  // namespace argosy
