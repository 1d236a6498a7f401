#include "argosy/ops/kmeans/kmeans.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

Tensor floats(std::initializer_list<float> v) { return Tensor::vector<float>(v); }
Tensor rows_of_two(std::initializer_list<float> v) {
  return Tensor::of<float>({static_cast<std::int64_t>(v.size() / 2), 2}, v);
}
Tensor number(std::int64_t v) { return Tensor::scalar(v); }

// Twelve points, and what TensorFlow 2.21 draws of them.
const Tensor kPoints = rows_of_two({0, 0, 4, 4, 8, 1, 1, 5, 5, 2, 9, 6, 2, 3, 6, 0, 10, 4, 3, 1, 7, 5, 0, 2});

TEST(KmeansOps, NearestNeighbors) {
  const auto nearest = [](const Tensor& points, const Tensor& centers, std::int64_t k,
                          std::vector<Tensor> expect = {}) {
    check({.op = "NearestNeighbors",
           .inputs = {points, centers, number(k)},
           .expect = std::move(expect),
           .other_dtypes = false});
  };
  const Tensor first = kPoints.rows(0, 4).clone(), then = kPoints.rows(4, 8).clone();
  nearest(first, then, 2,
          {Tensor::of<std::int64_t>({4, 2}, {2, 0, 0, 2, 3, 0, 2, 0}),
           Tensor::of<float>({4, 2}, {13, 29, 5, 5, 5, 10, 5, 25})});
  nearest(first, then, 9);  // all there are
  nearest(first, then, 0);
  nearest(first, then.rows(0, 0).clone(), 1);
  nearest(random_tensor(DType::kFloat32, {700, 33}), random_tensor(DType::kFloat32, {65, 33}, 2), 3);
  nearest(kPoints, kPoints, 1);  // each is its own
  nearest(Tensor::zeros(DType::kFloat32, {3, 0}), Tensor::zeros(DType::kFloat32, {2, 0}), 1,
          {Tensor::of<std::int64_t>({3, 1}, {0, 0, 0}), Tensor::zeros(DType::kFloat32, {3, 1})});
}

TEST(KmeansOps, DrawsTensorFlowsPoints) {
  const auto draws = [](std::int64_t seed, std::int64_t retries, std::initializer_list<float> expect) {
    check({.op = "KmeansPlusPlusInitialization",
           .inputs = {kPoints, number(4), number(seed), number(retries)},
           .expect = {rows_of_two(expect)},
           .other_dtypes = false});
  };
  draws(0, 0, {3, 1, 10, 4, 0, 0, 6, 0});
  draws(0, 3, {5, 2, 0, 2, 9, 6, 1, 5});
  draws(1, 0, {5, 2, 0, 2, 1, 5, 4, 4});
  draws(1, 3, {5, 2, 0, 2, 9, 6, 2, 3});
  draws(7, 0, {4, 4, 9, 6, 0, 2, 1, 5});
  draws(7, 3, {4, 4, 2, 3, 10, 4, 6, 0});
  draws(-3, 0, {6, 0, 9, 6, 0, 2, 5, 2});
  draws(-3, 3, {5, 2, 7, 5, 0, 2, 8, 1});
  draws(123456789012, 0, {0, 0, 8, 1, 1, 5, 3, 1});
  draws(123456789012, 3, {1, 5, 5, 2, 9, 6, 0, 2});
}

// Nothing tells them apart: every one is at distance 0 from the first.
TEST(KmeansOps, PointsThatAreEqualAreDrawnOnceEach) {
  check({.op = "KmeansPlusPlusInitialization",
         .inputs = {rows_of_two({2, 3, 2, 3, 2, 3}), number(3), number(1), number(0)},
         .expect = {rows_of_two({2, 3, 2, 3, 2, 3})},
         .other_dtypes = false});
}

TEST(KmeansOps, ChainsEndWhereTensorFlowsDo) {
  const auto ends = [](std::initializer_list<float> distances, std::int64_t seed, std::int64_t expect) {
    check({.op = "KMC2ChainInitialization",
           .inputs = {floats(distances), number(seed)},
           .expect = {number(expect)},
           .other_dtypes = false});
  };
  for (const std::int64_t seed : {0, 5, -1}) {
    ends({1, 2, 3, 4, 5}, seed, 4);
    ends({0, 0, 0}, seed, 0);
    ends({2}, seed, 0);
  }
  ends({5, 4, 3, 2, 1, 0, 0.5f, 0.1f}, 0, 6);
  ends({5, 4, 3, 2, 1, 0, 0.5f, 0.1f}, 5, 2);
  ends({5, 4, 3, 2, 1, 0, 0.5f, 0.1f}, -1, 3);
}

TEST(KmeansOps, Refuses) {
  const auto refuses = [](const char* op, std::vector<Tensor> inputs, const char* what, const char* unlike = "") {
    check({.op = op,
           .inputs = std::move(inputs),
           .error = Code::kInvalidArgument,
           .error_contains = what,
           .unlike_tensorflow = unlike});
  };
  const Tensor none = kPoints.rows(0, 0).clone(), vector = floats({1, 2});
  refuses("NearestNeighbors", {none, kPoints, number(1)}, "points.rows() > 0");
  refuses("NearestNeighbors", {kPoints, Tensor::zeros(DType::kFloat32, {2, 3}), number(1)},
          "point_dimensions == center_dimensions");
  refuses("NearestNeighbors", {kPoints, kPoints, number(-1)}, "k >= 0", "it ends the process");
  refuses("NearestNeighbors", {vector, kPoints, number(1)}, "");
  refuses("KmeansPlusPlusInitialization", {kPoints, number(0), number(1), number(0)}, "num_to_sample > 0");
  refuses("KmeansPlusPlusInitialization", {kPoints, number(13), number(1), number(0)}, "13 vs 12");
  refuses("KmeansPlusPlusInitialization", {none, number(1), number(1), number(0)}, "points.rows() > 0");
  refuses("KMC2ChainInitialization", {floats({}), number(1)}, "distances_tensor.size() > 0");
  refuses("KMC2ChainInitialization", {kPoints, number(1)}, "");
}

TEST(KmeansOps, WhatIsNoNumberIsFarthest) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  check({.op = "NearestNeighbors",
         .inputs = {rows_of_two({1, 1}), rows_of_two({nan, 0, 5, 5, 1, 2}), number(2)},
         .expect = {Tensor::of<std::int64_t>({1, 2}, {2, 1}), Tensor::of<float>({1, 2}, {1, 32})},
         .other_dtypes = false,
         .unlike_tensorflow = "to it a center that is no number is the nearest"});
}

}  // namespace
}  // namespace argosy
