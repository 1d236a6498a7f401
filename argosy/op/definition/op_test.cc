#include <gtest/gtest.h>

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/op/kernel/kernel.h"

namespace argosy {
namespace {

OpSpec toy(std::vector<std::string> inputs, std::vector<std::string> outputs, std::vector<std::string> attrs) {
  return {.name = "Toy",
          .doc = "",
          .inputs = std::move(inputs),
          .outputs = std::move(outputs),
          .attrs = std::move(attrs),
          .shape = unknown_output,
          .gradient = kNotDifferentiable};
}

TEST(OpNotation, ParsesTensorFlowsForms) {
  const auto op =
      parse_op(toy({"axis: int32", "values: N * T", "rest: U", "v: Ref(T)"}, {"y: T"},
                   {"N: int >= 2", "T: {float, double}", "U: list(type)", "padding: {'SAME', 'VALID'} = 'SAME'",
                    "dilations: list(int) = [1, 2]", "alpha: float = -0.5"}));
  ASSERT_TRUE(op.ok()) << op.status().to_string();
  EXPECT_EQ(op->input_args[1].number_attr, "N");
  EXPECT_TRUE(op->input_args[3].is_ref);
  EXPECT_EQ(std::get<std::vector<std::int64_t>>(op->attr("dilations")->value), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(std::get<float>(op->attr("alpha")->value), -0.5f);
  EXPECT_FALSE(parse_op(toy({"x: Q"}, {}, {})).ok());
  EXPECT_FALSE(parse_op(toy({}, {}, {"T: {floaty}"})).ok());
}

TEST(OpNotation, InfersAttributesFromInputs) {
  const auto op = parse_op(toy({"axis: int32", "values: N * T"}, {"y: T"}, {"N: int >= 2", "T: floating"}));
  AttrMap attrs;
  const DType good[] = {DType::kInt32, DType::kFloat64, DType::kFloat64, DType::kFloat64};
  ASSERT_TRUE(complete_attrs(*op, good, attrs).ok());
  EXPECT_EQ(attrs.get_int("N"), 3);
  EXPECT_EQ(attrs.get_type("T"), DType::kFloat64);

  AttrMap few;
  const DType one[] = {DType::kInt32, DType::kFloat32};
  EXPECT_EQ(complete_attrs(*op, one, few).message(), "Toy: Value for attr 'N' of 1 must be at least minimum 2");
  AttrMap mixed;
  const DType mix[] = {DType::kInt32, DType::kFloat32, DType::kFloat64};
  EXPECT_EQ(complete_attrs(*op, mix, mixed).message(), "Toy: input 2 must be float, not double");
  AttrMap unknown = {{"axes", 3}};
  EXPECT_FALSE(complete_attrs(*op, good, unknown).ok());
}

TEST(Variable, UpdatesInPlaceUnlessShared) {
  Variable v(DType::kFloat32, {2}, host_allocator());
  EXPECT_EQ(v.read("w").status().code(), Code::kFailedPrecondition);
  ASSERT_TRUE(v.assign(Tensor::vector<float>({1, 2}), true).ok());
  EXPECT_FALSE(v.assign(Tensor::vector<float>({1, 2, 3}), true).ok());
  const auto bump = [](Tensor& t) {
    t.data<float>()[0] += 1;
    return ok_status();
  };
  const void* before = v.read("w")->raw();
  ASSERT_TRUE(v.update("w", bump).ok());
  EXPECT_EQ(v.read("w")->raw(), before);
  const Tensor held = *v.read("w");
  ASSERT_TRUE(v.update("w", bump).ok());
  EXPECT_EQ(held.data<float>()[0], 2);
  EXPECT_EQ(v.read("w")->data<float>()[0], 3);
}

TEST(KernelRegistry, TriesTheNextAfterADecline) {
  KernelRegistry kernels;
  kernels.add("Toy", "cpu",
              [](const KernelInit&) -> Result<std::unique_ptr<Kernel>> { return unimplemented("wrong dtype"); });
  const auto op = parse_op(toy({}, {}, {}));
  const AttrMap attrs;
  const KernelInit init{.op = *op, .attrs = attrs, .node = "n"};
  EXPECT_EQ(kernels.make(init, "cpu").status().message(), "op Toy: every kernel for cpu declined: wrong dtype");
  kernels.add("Toy", "cpu", [](KernelContext&) { return ok_status(); });
  EXPECT_TRUE(kernels.make(init, "cpu").ok());
  EXPECT_FALSE(kernels.has("Toy", "cuda"));
}

}  // namespace
}  // namespace argosy
