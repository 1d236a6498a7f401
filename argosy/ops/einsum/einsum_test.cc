#include "argosy/ops/einsum/einsum.h"

#include <gtest/gtest.h>

#include "argosy/ops/evaluate.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

Tensor numbers(const Shape& shape, std::uint64_t seed = 1) { return random_tensor(DType::kFloat32, shape, seed); }

TEST(EinsumOps, EveryKindOfEquation) {
  const struct {
    const char* equation;
    std::vector<Shape> shapes;
    bool gradient = true;
  } kRows[] = {
      {"ij,jk->ik", {{2, 3}, {3, 4}}},
      {"ij,jk->ki", {{2, 3}, {3, 4}}},
      {"ij,kj->ik", {{2, 3}, {4, 3}}},
      {"ji,jk->ik", {{3, 2}, {3, 4}}},
      {"bij,bjk->bik", {{2, 2, 3}, {2, 3, 4}}},
      {"bqhd,bkhd->bhqk", {{2, 3, 2, 4}, {2, 5, 2, 4}}},
      {"bhqk,bkhd->bqhd", {{2, 2, 3, 5}, {2, 5, 2, 4}}},
      {"i,j->ij", {{3}, {4}}},
      {"i,i->", {{3}, {3}}},
      {"ij,ij->ij", {{2, 3}, {2, 3}}},
      {"ij,k->k", {{2, 3}, {4}}},
      {"ijk,jl->il", {{2, 3, 2}, {3, 4}}},
      {"aab,bc->ac", {{2, 2, 3}, {3, 4}}},
      {"ij->ji", {{2, 3}}},
      {"ij->", {{2, 3}}},
      {"ijk->j", {{2, 3, 4}}},
      {"ii->i", {{3, 3}}},
      {"i->ii", {{3}}},
      {"ii->", {{3, 3}}, false},
      {"...ij,...jk->...ik", {{2, 1, 2, 3}, {4, 3, 2}}},
      {"...ij,jk->...ik", {{2, 3}, {3, 2}}},
      {"i...,j...->ij...", {{2, 1}, {3, 4}}},
      {"...,...->...", {{2, 1}, {3}}},
      {"i...->i", {{3}}},
      {"->", {{}}},
      {",i->i", {{}, {3}}},
      {"iJ->Ji", {{2, 3}}},
  };
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.equation);
    OpCase c{.op = "Einsum", .attrs = {{"equation", row.equation}}, .check_gradient = row.gradient};
    for (const Shape& shape : row.shapes) c.inputs.push_back(numbers(shape, c.inputs.size() + 1));
    check(c);
  }
}

TEST(EinsumOps, Definitions) {
  const Tensor x = Tensor::of<float>({2, 3}, {0, 1, 2, 3, 4, 5});
  const auto is = [](const char* equation, std::vector<Tensor> inputs, Tensor y) {
    check({.op = "Einsum",
           .inputs = std::move(inputs),
           .attrs = {{"equation", equation}},
           .expect = {std::move(y)},
           .other_dtypes = false,
           .check_gradient = false});
  };
  is("ij,jk->ik", {x, Tensor::of<float>({3, 2}, {0, 1, 2, 3, 4, 5})}, Tensor::of<float>({2, 2}, {10, 13, 28, 40}));
  is("ij->", {x}, Tensor::scalar(15.0f));
  is("i->ii", {Tensor::vector<float>({1, 2})}, Tensor::of<float>({2, 2}, {1, 0, 0, 2}));
  is("ij,ij->j", {x, x}, Tensor::vector<float>({9, 17, 29}));
  is("ij,jk->ik", {Tensor::zeros(DType::kFloat32, {2, 0}), Tensor::zeros(DType::kFloat32, {0, 2})},
     Tensor::zeros(DType::kFloat32, {2, 2}));
  is("ij,jk->ik", {Tensor::zeros(DType::kFloat32, {0, 2}), Tensor::zeros(DType::kFloat32, {2, 3})},
     Tensor::zeros(DType::kFloat32, {0, 3}));
  const std::complex<float> i = {0, 1};
  is("i,i->", {Tensor::vector<std::complex<float>>({i, 2.0f}), Tensor::vector<std::complex<float>>({i, i})},
     Tensor::scalar(std::complex<float>(-1, 2)));
  is("ij,jk->ik", {Tensor::of<std::int32_t>({1, 2}, {2, 3}), Tensor::of<std::int32_t>({2, 1}, {4, 5})},
     Tensor::of<std::int32_t>({1, 1}, {23}));
}

TEST(EinsumOps, RefusesWhatDoesNotFit) {
  const Tensor x = numbers({2, 3});
  const auto refuses = [](const char* equation, std::vector<Tensor> inputs) {
    check({.op = "Einsum",
           .inputs = std::move(inputs),
           .attrs = {{"equation", equation}},
           .error = Code::kInvalidArgument});
  };
  refuses("...i->i", {x});
  refuses("ii->i", {x});
  refuses("ij,jk", {x, x});
  refuses("ij->ij->i", {x});
  refuses("i,i->", {Tensor::vector<float>({1, 2}), Tensor::vector<float>({1, 2, 3})});
  refuses("i,i->i", {Tensor::vector<float>({1}), Tensor::vector<float>({1, 2, 3})});
  refuses("...i...->i", {x});
  refuses("..i->i", {x});
  refuses("i,j,k->ijk", {x, x, x});
  refuses("ij->i", {Tensor::vector<float>({1, 2})});
  refuses("ij->i", {x, x});
  refuses("...i,...i->...", {x, numbers({4, 3})});
}

}  // namespace
}  // namespace argosy
