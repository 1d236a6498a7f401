// One integer of a graph (a size, an index, a shape) made a kernel ask the host for more memory than there is: the
// process ended in std::bad_alloc. Each row is refused in RESOURCE_EXHAUSTED, whatever the machine has.
#include <gtest/gtest.h>

#include "argosy/ops/evaluate.h"
#include "argosy/ops/ops.h"
#include "argosy/testing/op_cases/random_case.h"

namespace argosy {
namespace {

constexpr std::int32_t kMany = 1 << 24;

Tensor handle_of(std::string_view op, AttrMap attrs, std::vector<Tensor> inputs) {
  auto made = evaluate_op(*builtin_ops().find(op), std::move(attrs), inputs);
  EXPECT_TRUE(made.ok()) << made.status().to_string();
  return made.ok() ? (*made)[0] : Tensor();
}

struct HugeCase {
  const char* op;
  std::vector<Tensor> inputs;
  AttrMap attrs;
};

std::vector<HugeCase> rows() {
  const Tensor unknown = Tensor::scalar(std::int32_t{-1}), many = Tensor::scalar(kMany), flow = Tensor::scalar(0.0f);
  const Tensor x = Tensor::vector<float>({1}), first = Tensor::vector<std::int32_t>({0});
  const Tensor texts = Tensor::vector<std::string>({"a", "b"});
  const Tensor list =
      handle_of("TensorListReserve", {{"element_dtype", DType::kFloat32}}, {unknown, first.reshaped({})});
  const Tensor growing =
      handle_of("TensorArrayV3", {{"dtype", DType::kFloat32}, {"dynamic_size", true}}, {first.reshaped({})});
  const PartialShape huge{std::numeric_limits<std::int64_t>::max()};
  const Tensor unwritten = handle_of("TensorArrayV3", {{"dtype", DType::kVariant}, {"element_shape", huge}},
                                     {Tensor::scalar(std::int32_t{1})});
  const std::int32_t most = std::numeric_limits<std::int32_t>::max();
  return {{"TensorListReserve", {unknown, many}, {{"element_dtype", DType::kFloat32}}},
          {"TensorListResize", {list, many}, {}},
          {"TensorListSetItem", {list, Tensor::scalar(kMany - 1), x}, {{"resize_if_index_out_of_bounds", true}}},
          {"TensorListScatterV2", {x, first, unknown, many}, {{"element_dtype", DType::kFloat32}}},
          {"TensorListScatterIntoExistingList", {list, x, Tensor::vector<std::int32_t>({most})}, {}},
          {"TensorArrayV3", {many}, {{"dtype", DType::kFloat32}}},
          {"TensorArrayWriteV3", {growing, Tensor::scalar(kMany - 1), x, flow}, {}},
          {"TensorArrayReadV3", {unwritten, first.reshaped({}), flow}, {{"dtype", DType::kVariant}}},
          {"UnsortedSegmentJoin", {texts, Tensor::vector<std::int64_t>({0, 0}), Tensor::scalar(most)}, {}},
          {"Fill", {Tensor::vector<std::int32_t>({most}), Tensor::scalar("a")}, {}},
          {"Empty", {Tensor::vector<std::int32_t>({most})}, {{"dtype", DType::kString}}}};
}

TEST(Issue31, SizesOfAGraphDoNotEndTheProcess) {
  for (const HugeCase& row : rows()) {
    const OpDef* const op = builtin_ops().find(row.op);
    ASSERT_NE(op, nullptr) << row.op;
    RandomCase c{op, row.attrs, row.inputs};
    std::vector<DType> dtypes;
    for (const Tensor& t : row.inputs) dtypes.push_back(t.dtype());
    ASSERT_TRUE(complete_attrs(*op, dtypes, c.attrs).ok()) << c.describe();
    const auto outputs = run_kernel(c, cpu_kernels(), false);
    EXPECT_EQ(outputs.status().code(), Code::kResourceExhausted)
        << outputs.status().to_string() << "\n  " << c.describe();
  }
}

// The flow of an array's gradient is a scalar, as the shape function says, whatever flow came in.
TEST(Issue31, TheFlowOfAGradientArrayIsAScalar) {
  const Tensor array = handle_of("TensorArrayV3", {{"dtype", DType::kFloat32}}, {Tensor::scalar(std::int32_t{1})});
  const auto out =
      evaluate_op(*builtin_ops().find("TensorArrayGradV3"), {{"source", "s"}}, {array, Tensor::vector<float>({1, 2})});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ((*out)[1].shape(), Shape());
}

}  // namespace
}  // namespace argosy
