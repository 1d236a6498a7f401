// Generated kernels: what they compute, and that NVRTC takes them for every architecture the plug-in is built for.
#include "argosy/ops/elementwise/fused/fused_source.h"

#include <gtest/gtest.h>

#include "argosy/device/cuda/driver/runtime_compiler.h"
#include "argosy/ops/elementwise/gpu/gpu_functions.h"
#include "argosy/ops/evaluate.h"
#include "argosy/ops/ops.h"
#include "argosy/testing/op_cases/op_case.h"
#include "argosy/testing/run_on_gpu.h"

namespace argosy {

namespace {

constexpr DType kFusedTypes[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBfloat16, DType::kBool};

struct Case {
  FusedProgram program;
  std::vector<DType> inputs;
  std::vector<Shape> shapes;

  std::vector<FusedOperand> operands() const {
    std::vector<FusedOperand> all;
    for (const Shape& s : shapes) all.push_back(fused_operand(s, program.shape).value());
    return all;
  }
};

// tanh(x * a + bias) where x is positive, else a column: every way in which an operand lies, two results.
Case every_operand(DType d, std::int64_t rows = 4, std::int64_t columns = 6) {
  using enum DType;
  return {.program = {.steps = {{"Mul", {0, 1, -1}, d},
                                {"BiasAdd", {4, 2, -1}, d},
                                {"Tanh", {5, -1, -1}, d},
                                {"Greater", {0, 1, -1}, kBool},
                                {"SelectV2", {7, 6, 3}, d}},
                      .results = {2, 4},
                      .shape = {rows, columns}},
          .inputs = {d, d, d, d},
          .shapes = {{rows, columns}, {}, {columns}, {rows, 1}}};
}
// Casts there and back, predicates of one value, activations and their gradients.
Case conversions() {
  using enum DType;
  return {.program = {.steps = {{"Cast", {0, -1, -1}, kFloat32},
                                {"Elu", {1, -1, -1}, kFloat32},
                                {"EluGrad", {1, 2, -1}, kFloat32},
                                {"Cast", {3, -1, -1}, kBfloat16},
                                {"IsFinite", {4, -1, -1}, kBool},
                                {"Cast", {5, -1, -1}, kFloat64}},
                      .results = {3, 5},
                      .shape = {33}},
          .inputs = {kFloat16},
          .shapes = {{33}}};
}

// Every function that GPUs have for the dtype, of one value and of it twice: each a result.
Case every_function(DType d) {
  Case c{.program = {.shape = {8}}, .inputs = {d}, .shapes = {{8}}};
  const auto add = [&](const std::string& op, const elementwise::GpuKernel& kernel, int second) {
    const bool predicate = std::string_view(kernel.module) == "predicates";
    c.program.results.push_back(static_cast<int>(c.program.steps.size()));
    c.program.steps.push_back({op, {0, second, -1}, predicate ? DType::kBool : d});
  };
  for (const auto& op : builtin_ops().all()) {
    if (const auto one = elementwise::unary_on_gpu(op->name, d)) add(op->name, *one, -1);
    if (const auto two = elementwise::binary_on_gpu(op->name, d)) add(op->name, *two, 0);
  }
  return c;
}

// Every cast between the dtypes that fused programs take, and both choices.
Case casts_and_choices(DType d) {
  Case c{.program = {.shape = {8}}, .inputs = {DType::kBool, d}, .shapes = {{8}, {8}}};
  for (const DType to : kFusedTypes) c.program.steps.push_back({"Cast", {1, -1, -1}, to});
  for (const char* op : {"Select", "SelectV2"}) c.program.steps.push_back({op, {0, 1, 1}, d});
  for (std::size_t i = 0; i < c.program.steps.size(); ++i) c.program.results.push_back(static_cast<int>(i));
  return c;
}

std::vector<Case> all_cases() {
  std::vector<Case> cases = {conversions()};
  for (const DType d : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBfloat16}) {
    cases.push_back(every_operand(d));
  }
  for (const DType d : kFusedTypes) {
    // 16-bit floats are computed in float32, by the same functions.
    if (element_bytes(d) != 2) cases.push_back(every_function(d));
    cases.push_back(casts_and_choices(d));
  }
  return cases;
}

TEST(FusedSource, NvrtcCompilesEveryShapeForEveryArchitecture) {
  auto nvrtc = cuda::open_nvrtc();
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().to_string();
  // The plug-in's, and the seeds' GPU, of those that this NVRTC knows: 12 has no Blackwell before 12.8, 13 no Pascal.
  std::vector<int> wanted;
  for (const int known : (*nvrtc)->architectures()) {
    if (known == 61 || known == 75 || known == 80 || known == 90 || known == 100) wanted.push_back(known);
  }
  ASSERT_GE(wanted.size(), 3u) << (*nvrtc)->version();
  for (const Case& c : all_cases()) {
    const auto source = fused_source(c.program, c.inputs, c.operands());
    ASSERT_TRUE(source.has_value());
    ASSERT_FALSE(c.program.results.empty());
    const bool long_source = c.program.steps.size() > 8;  // every function, every cast: the oldest and the newest
    for (const int architecture : long_source ? std::vector<int>{wanted.front(), wanted.back()} : wanted) {
      const auto image = (*nvrtc)->compile(*source, architecture / 10, architecture % 10);
      ASSERT_TRUE(image.ok()) << image.status().to_string();
      EXPECT_EQ(image->substr(1, 3), "ELF") << architecture;
    }
  }
}

// What bounds such a kernel is memory: 16-bit numbers are read and written 16 bytes at a time.
TEST(FusedSource, NvrtcReadsAndWritesPacks) {
  auto nvrtc = cuda::open_nvrtc();
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().to_string();
  const Case c{.program = {.steps = {{"Mul", {0, 1, -1}, DType::kBfloat16}}, .results = {0}, .shape = {4, 16}},
               .inputs = {DType::kBfloat16, DType::kBfloat16},
               .shapes = {{4, 16}, {16}}};
  const auto source = fused_source(c.program, c.inputs, c.operands());
  ASSERT_TRUE(source.has_value());
  // For a GPU that is newer than any NVRTC there is text to look at.
  const auto text = (*nvrtc)->compile(*source, 99, 0);
  ASSERT_TRUE(text.ok()) << text.status().to_string();
  EXPECT_NE(text->find("ld.global.v4"), text->npos);
  EXPECT_NE(text->find("st.global.v4"), text->npos);
}

TEST(FusedSource, TheKernelComputesWhatTheCpuDoes) {
  const OpDef* const op = builtin_ops().find("_FusedElementwise");
  // Rows that are vecs (vec.h), that are none, and elements left over behind the last vec.
  for (const Case& c :
       {every_operand(DType::kFloat32), every_operand(DType::kBfloat16), every_operand(DType::kBfloat16, 3, 16),
        every_operand(DType::kFloat16, 5, 7), every_operand(DType::kFloat64, 3, 3), conversions()}) {
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < c.inputs.size(); ++i) {
      inputs.push_back(random_tensor(c.inputs[i], c.shapes[i], i + 1, -2, 2));
    }
    std::vector<DType> outputs;
    for (const int r : c.program.results) outputs.push_back(c.program.steps[static_cast<std::size_t>(r)].dtype);
    AttrMap attrs{{"Tin", c.inputs}, {"Tout", outputs}};
    FusedProgram program = c.program;
    program.inputs.assign(c.shapes.begin(), c.shapes.end());
    program.write(attrs);
    const auto expected = evaluate_op(*op, attrs, inputs);
    ASSERT_TRUE(expected.ok()) << expected.status().to_string();
    const auto found = run_on_gpu(*op, attrs, inputs);
    ASSERT_TRUE(found.has_value());
    ASSERT_TRUE(found->ok()) << found->status().to_string();
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      EXPECT_EQ(difference((**found)[o], (*expected)[o], outputs[o] == DType::kFloat64 ? 1e-12 : 1e-2), "");
    }
  }
}

TEST(FusedSource, DoesNotDependOnShapes) {
  Case one = every_operand(DType::kFloat32), other = one;
  other.program.shape = {8, 12};
  other.shapes = {{8, 12}, {}, {12}, {8, 1}};
  EXPECT_EQ(fused_source(one.program, one.inputs, one.operands()),
            fused_source(other.program, other.inputs, other.operands()));
}

TEST(FusedSource, WhatHasNoFunctionOnGpusHasNoSource) {
  const Case c{.program = {.steps = {{"Zeta", {0, 0, -1}, DType::kFloat32}}, .results = {0}, .shape = {3}},
               .inputs = {DType::kFloat32},
               .shapes = {{3}}};
  EXPECT_FALSE(fused_source(c.program, c.inputs, c.operands()).has_value());
}

}  // namespace

}  // namespace argosy
