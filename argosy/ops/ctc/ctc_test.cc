#include "argosy/ops/ctc/ctc.h"

#include <gtest/gtest.h>

#include "argosy/ops/constant/constant.h"
#include "argosy/testing/op_cases/gradient_case.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

Tensor ints(std::initializer_list<std::int32_t> v) { return Tensor::vector<std::int32_t>(v); }
Tensor pairs(std::initializer_list<std::int64_t> v) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(v.size() / 2), 2}, v);
}
Tensor logits(std::int64_t time = 6, std::int64_t classes = 4) {
  return random_tensor(DType::kFloat32, {time, 2, classes}, 3, -2, 2);
}

void loss(const Tensor& x, const Tensor& indices, const Tensor& values, const Tensor& lengths, AttrMap attrs = {}) {
  check({.op = "CTCLoss", .inputs = {x, indices, values, lengths}, .attrs = attrs, .check_gradient = false});
}

TEST(CtcOps, Losses) {
  const Tensor at = pairs({0, 0, 0, 1, 0, 2, 1, 0});
  for (const auto& labels : {ints({0, 1, 2, 1}), ints({0, 0, 1, 2}), ints({0, 1, 3, 1})}) {
    loss(logits(), at, labels, ints({6, 4}));
    loss(logits(), at, labels, ints({5, 1}));
    loss(logits(), at, labels, ints({6, 4}), {{"preprocess_collapse_repeated", true}});
    loss(logits(), at, labels, ints({6, 4}), {{"ctc_merge_repeated", false}});
    loss(logits(), at, labels, ints({2, 4}), {{"ignore_longer_outputs_than_inputs", true}});
  }
  loss(logits(3), pairs({0, 0, 0, 1, 1, 0}), ints({1, 1, 0}), ints({2, 3}));  // no alignment
  const auto refuses = [&](const Tensor& indices, const Tensor& values, const Tensor& lengths) {
    check({.op = "CTCLoss", .inputs = {logits(), indices, values, lengths}, .error = Code::kInvalidArgument});
  };
  refuses(at, ints({0, 1, 2, 1}), ints({2, 4}));
  refuses(at, ints({0, 1, 2, 1}), ints({7, 4}));
  refuses(at, ints({0, 1, 2, 1}), ints({6}));
  refuses(at, ints({3, 1, 2, 1}), ints({6, 4}));
  refuses(at, ints({-1, 1, 2, 1}), ints({6, 4}));
  refuses(pairs({0, 0, 0, 1}), ints({1, 0}), ints({6, 4}));
  refuses(pairs({0, 0, 2, 1}), ints({1, 0}), ints({6, 4}));
  refuses(pairs({1, 0, 0, 1}), ints({1, 0}), ints({6, 4}));
}

TEST(CtcOps, GradientOfTheLoss) {
  for (const bool merge : {true, false}) {
    check_gradients({.ops = {"CTCLoss"},
                     .at = {random_tensor(DType::kFloat64, {5, 2, 4}, 3, -2, 2)},
                     .f = [&](Graph& graph, const std::vector<Value>& x) -> std::vector<Value> {
                       return {ctc_loss(x[0], constant(graph, pairs({0, 0, 0, 1, 1, 0})),
                                        constant(graph, ints({1, 1, 2})), constant(graph, ints({5, 3})),
                                        {.ctc_merge_repeated = merge})};
                     }});
  }
}

TEST(CtcOps, Decoders) {
  for (const bool merge : {false, true}) {
    for (const int blank : {-1, 0}) {
      check({.op = "CTCGreedyDecoder",
             .inputs = {logits(12), ints({12, 7})},
             .attrs = {{"merge_repeated", merge}, {"blank_index", blank}}});
    }
    check({.op = "CTCGreedyDecoder", .inputs = {logits(3), ints({0, 0})}, .attrs = {{"merge_repeated", merge}}});
    for (const int width : {3, 10, 100}) {
      check({.op = "CTCBeamSearchDecoder",
             .inputs = {logits(8), ints({8, 5})},
             .attrs = {{"merge_repeated", merge}, {"beam_width", width}, {"top_paths", 3}}});
    }
  }
  // Lengths below 0 are 0, but then there is one path only.
  check({.op = "CTCGreedyDecoder", .inputs = {logits(3), ints({-4, 3})}});
  check({.op = "CTCBeamSearchDecoder",
         .inputs = {logits(4), ints({4, -5})},
         .attrs = {{"beam_width", 4}, {"top_paths", 1}}});
  check({.op = "CTCGreedyDecoder", .inputs = {logits(3), ints({4, 0})}, .error = Code::kFailedPrecondition});
  for (const char* op : {"CTCGreedyDecoder", "CTCBeamSearchDecoder"}) {
    check(
        {.op = op,
         .inputs = {Tensor::zeros(DType::kFloat32, {3, 0, 4}), ints({})},
         .attrs = op == std::string_view("CTCGreedyDecoder") ? AttrMap{} : AttrMap{{"beam_width", 4}, {"top_paths", 1}},
         .error = Code::kInvalidArgument});
  }
  check({.op = "CTCGreedyDecoder",
         .inputs = {logits(3), ints({3, 0})},
         .attrs = {{"blank_index", 4}},
         .error = Code::kInvalidArgument});
  const auto refuses = [](const Tensor& lengths, int width, int paths) {
    check({.op = "CTCBeamSearchDecoder",
           .inputs = {logits(3), lengths},
           .attrs = {{"beam_width", width}, {"top_paths", paths}},
           .error = Code::kInvalidArgument});
  };
  refuses(ints({3, 2}), 1, 2);
  refuses(ints({3, 0}), 10, 2);
  refuses(ints({3, -2}), 10, 2);
}

TEST(CtcOps, EditDistances) {
  const auto sizes = [](std::initializer_list<std::int64_t> v) { return Tensor::vector<std::int64_t>(v); };
  const Tensor guess = pairs({0, 0, 0, 1, 1, 0}), truth = pairs({0, 0, 0, 1, 0, 2, 1, 0});
  const auto far = [&](const std::vector<Tensor>& inputs, bool normalize, std::vector<float> expect) {
    check({.op = "EditDistance",
           .inputs = inputs,
           .attrs = {{"normalize", normalize}},
           .expect = {Tensor::vector<float>(expect)},
           .other_dtypes = false});
  };
  const std::vector<Tensor> some = {guess, ints({1, 2, 3}), sizes({2, 2}), truth, ints({1, 3, 2, 3}), sizes({2, 3})};
  far(some, true, {1.0f / 3, 0});
  far(some, false, {1, 0});
  // What only one side has; a truth that is empty is infinitely far.
  const std::vector<Tensor> apart = {pairs({0, 0}), ints({1}), sizes({2, 1}), pairs({1, 0}), ints({3}), sizes({3, 1})};
  far(apart, true, {INFINITY, 1, 0});
  far(apart, false, {1, 1, 0});
  far({pairs({0, 0}), Tensor::vector<std::string>({"a"}), sizes({1, 1}), pairs({0, 0, 0, 1}),
       Tensor::vector<std::string>({"b", "a"}), sizes({1, 2})},
      true, {0.5f});
  const auto refuses = [&](std::size_t which, const Tensor& instead, Code code) {
    std::vector<Tensor> inputs = some;
    inputs[which] = instead;
    check({.op = "EditDistance", .inputs = inputs, .error = code});
  };
  refuses(0, pairs({5, 0, 5, 1, 6, 0}), Code::kInternal);
  refuses(0, pairs({-1, 0, 0, 1, 1, 0}), Code::kInternal);
  refuses(1, ints({1, 2}), Code::kInvalidArgument);
  refuses(2, sizes({2, 2, 2}), Code::kInvalidArgument);
  refuses(5, sizes({-2, 3}), Code::kInvalidArgument);
}

}  // namespace
}  // namespace argosy
