#include "argosy/ops/diagonal/diagonal.h"

#include <gtest/gtest.h>

#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

Tensor k(std::int32_t lower, std::int32_t upper) {
  return lower == upper ? Tensor::scalar(lower) : Tensor::vector<std::int32_t>({lower, upper});
}

TEST(DiagonalOps, EveryBandAndAlignment) {
  for (const char* version : {"V2", "V3"}) {
    for (const char* align : {"RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"}) {
      AttrMap attrs;
      if (version == std::string_view("V3")) attrs.set("align", std::string(align));
      for (const auto& [lower, upper] : {std::pair{0, 0}, {1, 1}, {-2, -2}, {-1, 1}, {-2, 0}, {0, 2}, {1, 2}}) {
        for (const Shape& shape : {Shape{2, 3, 4}, Shape{4, 3}, Shape{3, 3}}) {
          SCOPED_TRACE(str_cat(align, " ", lower, "…", upper, " of ", shape));
          const Tensor matrix = random_tensor(DType::kFloat32, shape, 1);
          const std::int64_t rows = shape[shape.rank() - 2], columns = shape.back();
          const std::int64_t longest = std::min(rows + std::min(upper, 0), columns - std::max(lower, 0));
          std::vector<std::int64_t> sizes(shape.sizes().begin(), shape.sizes().end() - 2);
          if (upper > lower) sizes.push_back(upper - lower + 1);
          sizes.push_back(longest);
          const Tensor diagonals = random_tensor(DType::kFloat32, Shape(std::span<const std::int64_t>(sizes)), 2);
          const bool dtypes = lower == -1;
          check({.op = str_cat("MatrixDiagPart", version),
                 .inputs = {matrix, k(lower, upper), Tensor::scalar(7.0f)},
                 .attrs = attrs,
                 .other_dtypes = dtypes,
                 .constant_inputs = {2}});
          check({.op = str_cat("MatrixSetDiag", version),
                 .inputs = {matrix, diagonals, k(lower, upper)},
                 .attrs = attrs,
                 .other_dtypes = dtypes});
          const auto made = [&](int r, int c) {
            check({.op = str_cat("MatrixDiag", version),
                   .inputs = {diagonals, k(lower, upper), Tensor::scalar(r), Tensor::scalar(c), Tensor::scalar(7.0f)},
                   .attrs = attrs,
                   .other_dtypes = dtypes,
                   .constant_inputs = {4}});
          };
          made(-1, -1);
          made(static_cast<int>(rows), static_cast<int>(columns));
        }
      }
    }
  }
}

TEST(DiagonalOps, Definition) {
  check({.op = "MatrixDiagPartV3",
         .inputs = {Tensor::of<std::int32_t>({3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}), k(-1, 2),
                    Tensor::scalar(0)},
         .expect = {Tensor::of<std::int32_t>({4, 3}, {0, 3, 8, 2, 7, 12, 1, 6, 11, 5, 10, 0})},
         .other_dtypes = false});
  check({.op = "MatrixDiagV3",
         .inputs = {Tensor::vector<std::int32_t>({1, 2}), k(1, 1), Tensor::scalar(-1), Tensor::scalar(-1),
                    Tensor::scalar(9)},
         .expect = {Tensor::of<std::int32_t>({3, 3}, {9, 1, 9, 9, 9, 2, 9, 9, 9})},
         .other_dtypes = false});
  check({.op = "MatrixDiagPartV3",
         .inputs = {Tensor::zeros(DType::kFloat32, {0, 3, 4}), k(-1, 2), Tensor::scalar(0.0f)},
         .check_gradient = false});
}

TEST(DiagonalOps, Refuses) {
  const Tensor matrix = random_tensor(DType::kFloat32, {3, 4});
  const Tensor zero = Tensor::scalar(0.0f), any = Tensor::scalar(-1);
  const auto refuses = [](const char* op, std::vector<Tensor> inputs) {
    check({.op = op, .inputs = std::move(inputs), .error = Code::kInvalidArgument});
  };
  refuses("MatrixDiagPartV3", {matrix, k(2, 1), zero});
  refuses("MatrixDiagPartV3", {matrix, k(4, 4), zero});
  refuses("MatrixDiagPartV3", {matrix, k(-3, -3), zero});
  refuses("MatrixDiagPartV3", {matrix, Tensor::vector<std::int32_t>({0, 1, 2}), zero});
  refuses("MatrixDiagPartV3", {Tensor::vector<float>({1, 2}), k(0, 0), zero});
  refuses("MatrixSetDiagV3", {matrix, Tensor::vector<float>({1, 2}), k(0, 0)});
  refuses("MatrixSetDiagV3", {matrix, Tensor::vector<float>({1, 2, 3}), k(-1, 0)});
  refuses("MatrixDiagV3", {Tensor::vector<float>({1, 2}), k(0, 1), any, any, zero});
  refuses("MatrixDiagV3", {Tensor::vector<float>({1, 2}), k(0, 0), Tensor::scalar(1), any, zero});
  refuses("MatrixDiagV3", {Tensor::vector<float>({1, 2}), k(0, 0), Tensor::scalar(3), Tensor::scalar(3), zero});
}

}  // namespace
}  // namespace argosy
