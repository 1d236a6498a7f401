#include "argosy/ops/rnn/rnn.h"

#include <gtest/gtest.h>

#include "argosy/ops/constant/constant.h"
#include "argosy/testing/op_cases/gradient_case.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

using Values = std::vector<Value>;

constexpr std::int64_t kTime = 4, kBatch = 2, kInputs = 3, kUnits = 5;

Tensor numbers(const Shape& shape, std::uint64_t seed) { return random_tensor(DType::kFloat32, shape, seed); }

// x, cs_prev, h_prev, w, wci, wcf, wco, b.
std::vector<Tensor> lstm_inputs(bool sequence) {
  const Shape x = sequence ? Shape{kTime, kBatch, kInputs} : Shape{kBatch, kInputs};
  return {numbers(x, 1),
          numbers({kBatch, kUnits}, 2),
          numbers({kBatch, kUnits}, 3),
          numbers({kInputs + kUnits, 4 * kUnits}, 4),
          numbers({kUnits}, 5),
          numbers({kUnits}, 6),
          numbers({kUnits}, 7),
          numbers({4 * kUnits}, 8)};
}

TEST(RnnOps, Cells) {
  for (const bool peephole : {false, true}) {
    for (const float clip : {3.0f, 0.2f, -1.0f}) {
      check({.op = "LSTMBlockCell",
             .inputs = lstm_inputs(false),
             .attrs = {{"use_peephole", peephole}, {"cell_clip", clip}, {"forget_bias", 0.5f}},
             .check_gradient = false});
    }
    std::vector<Tensor> inputs = lstm_inputs(false);
    for (std::uint64_t i = 0; i < 8; ++i) {
      inputs.push_back(random_tensor(DType::kFloat32, {kBatch, kUnits}, 10 + i, 0.1, 0.9));
    }
    check({.op = "LSTMBlockCellGrad", .inputs = inputs, .attrs = {{"use_peephole", peephole}}});
  }
  std::vector<Tensor> wrong = lstm_inputs(false);
  wrong[3] = numbers({kInputs + kUnits, 3 * kUnits}, 4);
  check({.op = "LSTMBlockCell", .inputs = wrong, .error = Code::kInvalidArgument});
}

TEST(RnnOps, Sequences) {
  for (const char* version : {"", "V2"}) {
    for (const bool peephole : {false, true}) {
      for (const std::int64_t steps : {kTime, kTime - 1, std::int64_t{0}}) {
        std::vector<Tensor> inputs = lstm_inputs(true);
        inputs.insert(inputs.begin(), Tensor::scalar(steps));
        check({.op = str_cat("BlockLSTM", version),
               .inputs = inputs,
               .attrs = {{"use_peephole", peephole}},
               .check_gradient = false,
               .unlike_tensorflow = steps < kTime ? "leaves steps behind the end unset" : ""});
        if (steps != kTime) continue;  // behind the end TensorFlow reads what nobody set
        for (std::uint64_t i = 0; i < 9; ++i) {
          inputs.push_back(random_tensor(DType::kFloat32, {kTime, kBatch, kUnits}, 10 + i, 0.1, 0.9));
        }
        check({.op = str_cat("BlockLSTMGrad", version), .inputs = inputs, .attrs = {{"use_peephole", peephole}}});
      }
    }
    std::vector<Tensor> inputs = lstm_inputs(true);
    inputs.insert(inputs.begin(), Tensor::scalar(kTime + 1));
    check({.op = str_cat("BlockLSTM", version), .inputs = inputs, .error = Code::kInvalidArgument});
  }
}

TEST(RnnOps, Gru) {
  std::vector<Tensor> inputs = {
      numbers({kBatch, kInputs}, 1),          numbers({kBatch, kUnits}, 2), numbers({kInputs + kUnits, 2 * kUnits}, 3),
      numbers({kInputs + kUnits, kUnits}, 4), numbers({2 * kUnits}, 5),     numbers({kUnits}, 6)};
  check({.op = "GRUBlockCell", .inputs = inputs, .check_gradient = false});
  for (std::uint64_t i = 0; i < 4; ++i)
    inputs.push_back(random_tensor(DType::kFloat32, {kBatch, kUnits}, 10 + i, 0.1, 0.9));
  check({.op = "GRUBlockCellGrad", .inputs = inputs});
  inputs.resize(6);
  inputs[5] = numbers({kUnits + 1}, 6);
  check({.op = "GRUBlockCell", .inputs = inputs, .error = Code::kInvalidArgument});
}

// In float32, which is all there is: wide steps, loose bounds.
TEST(RnnOps, Gradients) {
  for (const bool peephole : {false, true}) {
    const LstmOptions options{.forget_bias = 0.5f, .cell_clip = 50, .use_peephole = peephole};
    const auto weights = [](const Values& x) { return LstmWeights{x[3], x[7], x[4], x[5], x[6]}; };
    check_gradients({.ops = {"LSTMBlockCell"},
                     .at = lstm_inputs(false),
                     .f = [&](Graph&, const Values& x) -> Values {
                       const LstmState y = lstm_block_cell(x[0], {x[1], x[2]}, weights(x), options);
                       return {y.cell, y.output};
                     },
                     .step = 1e-2,
                     .tolerance = 1e-2});
    check_gradients({.ops = {"BlockLSTM", "BlockLSTMV2"},
                     .at = lstm_inputs(true),
                     .f = [&](Graph& graph, const Values& x) -> Values {
                       const Value steps = constant(graph, kTime - 1);
                       const LstmState y = block_lstm(steps, x[0], {x[1], x[2]}, weights(x), options);
                       const Value z = graph.add("BlockLSTMV2", {steps, x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]},
                                                 {{"use_peephole", peephole}});
                       return {y.cell, y.output, z.output(1), z.output(6)};
                     },
                     .step = 1e-2,
                     .tolerance = 2e-2});
  }
  check_gradients(
      {.ops = {"GRUBlockCell"},
       .at = {numbers({kBatch, kInputs}, 1), numbers({kBatch, kUnits}, 2), numbers({kInputs + kUnits, 2 * kUnits}, 3),
              numbers({kInputs + kUnits, kUnits}, 4), numbers({2 * kUnits}, 5), numbers({kUnits}, 6)},
       .f = [](Graph&, const Values& x) -> Values { return {gru_block_cell(x[0], x[1], x[2], x[3], x[4], x[5])}; },
       .step = 1e-2,
       .tolerance = 1e-2});
}

}  // namespace
}  // namespace argosy
