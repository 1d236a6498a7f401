// Many repeated indices on the GPU: updates of one slice happen in the order of the indices.
#include <gmock/gmock.h>

#include <algorithm>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/gather/gather.h"
#include "argosy/runtime/session/session.h"
#include "argosy/testing/op_cases/op_case.h"
#include "tests/fake_gpu/support/fake_driver_kernels.h"

namespace argosy {
namespace {

struct Scattered {
  std::int64_t count = 0, rows = 0;
  Tensor indices, updates;
};

// Many to few rows; some runs of the same, some far apart.
Scattered scattered(std::int64_t count, std::int64_t rows) {
  Scattered s{.count = count,
              .rows = rows,
              .indices = Tensor::zeros(DType::kInt64, {count, 1}),
              .updates = random_tensor(DType::kFloat32, {count, 2}, 7)};
  std::uint64_t state = 3;
  for (std::int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    s.indices.data<std::int64_t>()[i] = i % 16 < 3 ? 0 : static_cast<std::int64_t>((state >> 33) % rows);
  }
  return s;
}

Result<Tensor> run(const Scattered& s, const DeviceRequest& request, bool sum) {
  Graph graph;
  const auto on = graph.device(request.devices.starts_with("gpu") ? "/gpu:0" : "/cpu:0");
  const Value indices = placeholder(graph, DType::kInt64, {s.count, 1}, "indices");
  const Value updates = placeholder(graph, DType::kFloat32, {s.count, 2}, "updates");
  const Value base = constant(graph, Tensor::zeros(DType::kFloat32, {s.rows, 2}));
  const Value y = sum ? tensor_scatter_add(base, indices, updates) : tensor_scatter_update(base, indices, updates);
  Session session(graph, {.devices = request, .reproducible = true});
  ARGOSY_ASSIGN_OR_RETURN(auto out, session.run({{indices, s.indices}, {updates, s.updates}}, {y}));
  return std::move(out[0]);
}

class RepeatedIndices : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(RepeatedIndices, AreTakenInTheirOrder) {
  const Scattered s = scattered(GetParam(), std::max<std::int64_t>(GetParam() / 50, 3));
  // In a loop: the last update of a row stays; sums go from the first to the last.
  Tensor last = Tensor::zeros(DType::kFloat32, {s.rows, 2}), sums = Tensor::zeros(DType::kFloat32, {s.rows, 2});
  for (std::int64_t i = 0; i < s.count; ++i) {
    const std::int64_t row = s.indices.data<std::int64_t>()[i];
    for (int k = 0; k < 2; ++k) {
      last.data<float>()[row * 2 + k] = s.updates.data<float>()[i * 2 + k];
      sums.data<float>()[row * 2 + k] += s.updates.data<float>()[i * 2 + k];
    }
  }
  cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(1), cuda::fake::with_kernels());
  DeviceRequest request = machine.request("gpu:0");
  request.deterministic = true;
  const auto updated = run(s, request, false);
  ASSERT_TRUE(updated.ok()) << updated.status().to_string();
  EXPECT_EQ(difference(*updated, last, 0), "");
  const auto added = run(s, request, true);
  ASSERT_TRUE(added.ok()) << added.status().to_string();
  EXPECT_EQ(difference(*added, sums, 0), "");
  // Never more launches than a sort needs.
  const std::vector<std::string> kernels = machine.driver().kernels();
  const auto merges = std::count(kernels.begin(), kernels.end(), "slots_merge");
  if (s.count <= 256) {
    EXPECT_EQ(merges, 0);
  } else {
    EXPECT_GT(merges, 0);
    EXPECT_LE(merges, 2 * 17);
    EXPECT_EQ(std::count(kernels.begin(), kernels.end(), "slots_link"), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Counts, RepeatedIndices, ::testing::Values(1, 2, 255, 256, 257, 1000, 1025, 4096, 100000));

}  // namespace
}  // namespace argosy
