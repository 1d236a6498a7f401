#include "argosy/ops/onednn/program_pool.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/ops/matmul/gemm.h"
#include "argosy/ops/ops.h"

namespace argosy {
namespace {

using onednn::Program;
using onednn::ProgramPool;

struct Number {
  int n = 0;
  bool operator==(const Number&) const = default;
  std::size_t hash() const { return static_cast<std::size_t>(n) % 7; }  // so that different ones meet
};

class NumberProgram final : public Program {
 public:
  explicit NumberProgram(int n) : n_(n) {}
  std::size_t scratch_bytes() const override { return static_cast<std::size_t>(n_); }
  Status run(std::span<void* const>, void*) override { return ok_status(); }

 private:
  int n_;
};

Result<std::unique_ptr<Program>> make_number(const Number& spec) {
  if (spec.n < 0) return unimplemented("negative");
  return std::unique_ptr<Program>(std::make_unique<NumberProgram>(spec.n));
}

const Device* device(std::uintptr_t number) { return reinterpret_cast<const Device*>(number * 64); }  // a name only

TEST(ProgramPool, GivesTheSameProgramForTheSameSpecAndDevice) {
  ProgramPool<Number> pool;
  const auto one = pool.get({1}, device(1), make_number).value();
  EXPECT_EQ(pool.get({1}, device(1), make_number).value(), one);
  EXPECT_NE(pool.get({1}, device(2), make_number).value(), one);
  const auto eight = pool.get({8}, device(1), make_number).value();  // the same hash
  EXPECT_EQ(eight->scratch_bytes(), 8U);
  EXPECT_EQ(one->scratch_bytes(), 1U);
}

TEST(ProgramPool, HandsErrorsOnAndKeepsNone) {
  ProgramPool<Number> pool;
  EXPECT_EQ(pool.get({-1}, device(1), make_number).status().code(), Code::kUnimplemented);
  EXPECT_EQ(pool.size(), 0U);
}

TEST(ProgramPool, ProgramsGoWithTheirLastUserAndLeaveLittleBehind) {
  ProgramPool<Number> pool;
  std::weak_ptr<Program> gone = pool.get({1}, device(1), make_number).value();
  EXPECT_TRUE(gone.expired());
  const auto kept = pool.get({1}, device(1), make_number).value();
  for (int n = 2; n < 5000; ++n) ASSERT_TRUE(pool.get({n}, device(1), make_number).ok());
  EXPECT_LT(pool.size(), 200U);
  EXPECT_EQ(pool.get({1}, device(1), make_number).value(), kept);
}

TEST(ProgramPool, ThreadsAgree) {
  ProgramPool<Number> pool;
  std::vector<std::vector<std::shared_ptr<Program>>> got(4);
  std::vector<std::thread> threads;
  for (auto& mine : got) {
    threads.emplace_back([&] {
      for (int n = 0; n < 300; ++n) mine.push_back(pool.get({n}, device(1), make_number).value());
    });
  }
  for (std::thread& t : threads) t.join();
  for (const auto& mine : got) EXPECT_EQ(mine, got[0]);
}

// Kernels of one session share, those of another do not; each computes its own product.
TEST(ProgramPool, KernelsOfASessionShareTheirProducts) {
  const auto session = std::make_shared<ResourceManager>(), other = std::make_shared<ResourceManager>();
  Graph g;
  const OpDef* const op = g.ops().find("MatMul");
  ASSERT_NE(op, nullptr);
  const AttrMap attrs{{"T", DType::kFloat32}, {"transpose_a", false}, {"transpose_b", false}};
  const DType in[] = {DType::kFloat32, DType::kFloat32}, out[] = {DType::kFloat32};
  const PartialShape in_shapes[] = {{4, 4}, {4, 4}}, out_shapes[] = {{4, 4}};
  std::vector<std::unique_ptr<Kernel>> kernels;
  for (int k = 0; k < 4; ++k) {
    auto kernel = cpu_kernels().make({.op = *op,
                                      .attrs = attrs,
                                      .node = "product",
                                      .input_dtypes = in,
                                      .output_dtypes = out,
                                      .input_shapes = in_shapes,
                                      .output_shapes = out_shapes,
                                      .constants = {},
                                      .op_state = k < 3 ? session : other},
                                     "cpu");
    ASSERT_TRUE(kernel.ok()) << kernel.status().to_string();
    kernels.push_back(std::move(*kernel));
    Tensor a = Tensor::zeros(DType::kFloat32, {4, 4}), b = a, product;
    b = Tensor::zeros(DType::kFloat32, {4, 4});
    for (int i = 0; i < 4; ++i) {
      a.data<float>()[5 * i] = static_cast<float>(k + 1);  // on the diagonal
      b.data<float>()[5 * i] = 2;
    }
    const Tensor* const inputs[] = {&a, &b};
    OutputSlot slots[] = {{.tensor = &product}};
    KernelContext context({.inputs = inputs,
                           .num_inputs = 2,
                           .outputs = slots,
                           .num_outputs = 1,
                           .output_dtypes = out,
                           .node = "product",
                           .allocator = &host_allocator()});
    const Status done = kernels.back()->run(context);
    ASSERT_TRUE(done.ok()) << done.to_string();
    for (int i = 0; i < 16; ++i) EXPECT_EQ(product.data<float>()[i], i % 5 == 0 ? 2.0f * (k + 1) : 0) << i;
  }
  using Pool = ProgramPool<onednn::MatMulSpec>;
  EXPECT_EQ(session->find<Pool>("_programs", "products").value()->size(), 1U);
  EXPECT_EQ(other->find<Pool>("_programs", "products").value()->size(), 1U);
}

TEST(OneDnn, HasTilesForWhatItMultiplies) {
  EXPECT_FALSE(onednn::has_tiles(DType::kFloat32));
  EXPECT_FALSE(onednn::has_tiles(DType::kFloat16));
  EXPECT_TRUE(onednn::supports(DType::kBfloat16) || !onednn::has_tiles(DType::kBfloat16));
}

}  // namespace
}  // namespace argosy
