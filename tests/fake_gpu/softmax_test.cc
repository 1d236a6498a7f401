// Softmax and its gradient on a GPU, by a fake cuDNN and by our own kernels: the CPU's results, and which kernel ran.
#include <gmock/gmock.h>

#include "argosy/graph/gradients.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/evaluate.h"
#include "argosy/ops/ops.h"
#include "argosy/ops/softmax/softmax.h"
#include "argosy/testing/op_cases/op_case.h"
#include "tests/fake_gpu/support/run_by_dnn.h"

namespace argosy {

namespace {

using cuda::fake::FakeDnn;

const Shape kMany = {3, 64, 100}, kFew = {3, 4, 10};

double tolerance(DType dtype) { return dtype_tolerance(dtype, 1e-5); }

void expect_as_on_cpu(cuda::fake::Machine& machine, const std::string& op, const AttrMap& attrs,
                      const std::vector<Tensor>& inputs, const ByDnnOptions& options) {
  const auto expected = evaluate_op(*builtin_ops().find(op), attrs, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status().to_string();
  const auto found = run_by_dnn(machine, op, attrs, inputs, options);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(difference(found[0], (*expected)[0], tolerance(found[0].dtype())), "") << op;
}

// Softmax, LogSoftmax and the gradients of both; `asked`: does cuDNN compute them?
void check_all(FakeDnn& fake, const Shape& shape, DType dtype, bool shapes_known, bool asked) {
  SCOPED_TRACE(str_cat(shape, " ", dtype_name(dtype), " ", shapes_known));
  fake.softmaxes = fake.softmax_gradients = 0;
  cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(1), fake.found(cuda::fake::with_kernels()));
  const Tensor x = random_tensor(dtype, shape, 1, -3, 3), dy = random_tensor(dtype, shape, 2);
  for (const std::string op : {"Softmax", "LogSoftmax"}) {
    // What is fed is written over, which the library does not promise to bear; a constant is not.
    expect_as_on_cpu(machine, op, {}, {x}, {.shapes_known = shapes_known});
    expect_as_on_cpu(machine, op, {}, {x}, {.constants = {0}});
    const auto y = evaluate_op(*builtin_ops().find(op), {}, {x});
    ASSERT_TRUE(y.ok()) << y.status().to_string();
    expect_as_on_cpu(machine, "_SoftmaxGrad", {{"logarithm", op == "LogSoftmax"}}, {(*y)[0], dy},
                     {.shapes_known = shapes_known});
  }
  EXPECT_EQ(fake.softmaxes, asked ? 2 : 0);  // those beside constants
  EXPECT_EQ(fake.softmax_gradients, asked ? 2 : 0);
}

TEST(DnnSoftmax, GivesWhatTheCpuGives) {
  FakeDnn fake;
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBfloat16}) {
    for (const bool known : {true, false}) check_all(fake, kMany, dtype, known, true);
  }
  EXPECT_EQ(fake.live_objects, 0);
}

TEST(DnnSoftmax, OwnKernelsForFewNumbersAndWhereTheLibraryRefuses) {
  FakeDnn fake;
  for (const bool known : {true, false}) {
    for (const Shape& shape : {kFew, Shape{0, 5}, Shape{5, 0}}) check_all(fake, shape, DType::kFloat32, known, false);
  }
  fake.softmaxes_answer = cuda::kDnnNotSupported;
  check_all(fake, kMany, DType::kFloat32, true, false);
}

// A step with a softmax and the gradient behind it: one node for the latter, results as on the CPU.
TEST(DnnSoftmax, GradientsOfAGraphAreOneNode) {
  for (const bool logarithm : {false, true}) {
    for (const bool by_library : {false, true}) {
      SCOPED_TRACE(str_cat(logarithm, by_library));
      FakeDnn fake;
      cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(1),
                                  by_library ? fake.found(cuda::fake::with_kernels()) : cuda::fake::with_kernels());
      std::vector<Tensor> found[2];
      for (const bool gpu : {false, true}) {
        Graph graph;
        const auto on = graph.device(gpu ? "/gpu:0" : "/cpu:0");
        const Value logits = placeholder(graph, DType::kFloat32, PartialShape(kMany));
        const Value weights = placeholder(graph, DType::kFloat32, PartialShape(kMany));
        const Value y = logarithm ? log_softmax(logits) : softmax(logits);
        const Value dx = gradients(graph, {y * weights}, {logits})[0];
        ASSERT_TRUE(graph.status().ok()) << graph.status().to_string();
        Session session(graph, {.devices = machine.request()});
        const auto report = session.placement({{logits, kMany}, {weights, kMany}}, {y, dx}, {});
        ASSERT_TRUE(report.ok()) << report.status().to_string();
        int gradients = 0;
        for (const auto& row : report->rows) gradients += row.op == "_SoftmaxGrad" ? 1 : 0;
        EXPECT_EQ(gradients, gpu ? 1 : 0);
        auto out = session.run({{logits, random_tensor(DType::kFloat32, kMany, 1, -3, 3)},
                                {weights, random_tensor(DType::kFloat32, kMany, 2)}},
                               {y, dx});
        ASSERT_TRUE(out.ok()) << out.status().to_string();
        found[gpu ? 1 : 0] = *std::move(out);
      }
      for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(difference(found[1][i], found[0][i], 1e-5), "") << i;
      EXPECT_EQ(fake.softmax_gradients, by_library ? 1 : 0);
    }
  }
}

}  // namespace

}  // namespace argosy
