// Batches sharded over fake GPUs: each joins the rows of sparse gradients and adds up equal words; the results are the
// CPU's.
#include <gtest/gtest.h>

#include "argosy/testing/embedding.h"
#include "tests/fake_gpu/support/fake_driver_kernels.h"

namespace argosy {
namespace {

using embedding::Embedding;
using embedding::Rule;

TEST(CudaReplicated, RowsOfSparseGradientsAreJoined) {
  for (const Rule rule : {Rule::kScatter, Rule::kEqualsAdded, Rule::kClipped, Rule::kThroughSlot}) {
    Embedding e(rule, true);
    const auto alone = embedding::run(e, 1);
    ASSERT_TRUE(alone.ok()) << alone.status().to_string();
    for (const int gpus : {1, 2, 3}) {
      cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(gpus), cuda::fake::with_kernels());
      const auto many = embedding::run(e, gpus, 0, machine.request(str_cat(gpus)));
      ASSERT_TRUE(many.ok()) << many.status().to_string();
      for (std::size_t i = 0; i < alone->losses.size(); ++i) {
        EXPECT_EQ(difference(many->losses[i], alone->losses[i], 1e-10), "") << gpus << " GPUs, step " << i;
      }
      for (std::size_t i = 0; i < alone->variables.size(); ++i) {
        EXPECT_EQ(difference(many->variables[i], alone->variables[i], 1e-10), "") << gpus << " GPUs, variable " << i;
      }
    }
  }
}

}  // namespace
}  // namespace argosy
