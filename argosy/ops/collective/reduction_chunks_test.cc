// Sums over a batch on one device, and on two, four and eight that have a shard each: the same bits.
#include "argosy/ops/collective/reduction_chunks.h"

#include <gtest/gtest.h>

#include <hwy/targets.h>

#include <cstring>
#include <functional>

#include "argosy/base/threads/parallel.h"
#include "argosy/ops/collective/shard_batch.h"
#include "argosy/ops/conv/winograd/winograd.h"
#include "argosy/ops/evaluate.h"
#include "argosy/ops/ops.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

using Ints = std::vector<std::int64_t>;

class Team {
 public:
  explicit Team(int threads) : before_(thread_budget()) { set_thread_budget(threads); }
  ~Team() { set_thread_budget(before_); }

 private:
  const int before_;
};

// An op, and its inputs for rows [begin, end) of the batch.
struct Work {
  std::string op;
  AttrMap attrs;
  std::function<std::vector<Tensor>(std::int64_t begin, std::int64_t end)> inputs;
};

Result<Tensor> run(const Work& work, const char* attr, int chunks, std::int64_t begin, std::int64_t end,
                   int turns = 1) {
  AttrMap attrs = work.attrs;
  if (chunks > 0) attrs.set(attr, std::int64_t{chunks});
  if (turns > 1) attrs.set(kReduceTurnsAttr, std::int64_t{turns});
  ARGOSY_ASSIGN_OR_RETURN(const auto outputs,
                          evaluate_op(*builtin_ops().find(work.op), attrs, work.inputs(begin, end)));
  return outputs[0];
}

Tensor numbers(const Shape& shape, std::uint64_t seed) { return random_tensor(DType::kFloat32, shape, seed); }

Tensor sizes(const Shape& shape) {
  return Tensor::vector(std::vector<std::int32_t>(shape.sizes().begin(), shape.sizes().end()));
}

// The shards of every device, one a turn, computed by a team that is as much smaller as there are devices.
Result<std::vector<Tensor>> shards(const Work& work, const char* attr, std::int64_t batch, int devices, int turns = 1) {
  const Team team(std::max(1, 8 / devices));
  const int all = devices * turns;
  std::vector<Tensor> results;
  for (int d = 0; d < all; ++d) {
    ARGOSY_ASSIGN_OR_RETURN(const auto rows, shard_batch(batch, Ints(static_cast<std::size_t>(all), 1), d));
    ARGOSY_ASSIGN_OR_RETURN(Tensor shard, run(work, attr, kReductionChunks / all, rows.first, rows.second, turns));
    results.push_back(std::move(shard));
  }
  return results;
}

void check_sums(const Work& work, double tolerance) {
  for (const std::int64_t batch : {128, 100, 64, 37, 24}) {
    SCOPED_TRACE(str_cat(work.op, " of ", batch));
    const auto plain = run(work, kReduceChunksAttr, 0, 0, batch);
    ASSERT_TRUE(plain.ok()) << plain.status().to_string();
    std::vector<float> first;
    for (const auto& [devices, turns] : std::initializer_list<std::pair<int, int>>{
             {1, 1}, {2, 1}, {4, 1}, {8, 1}, {1, 2}, {1, 4}, {1, 8}, {2, 2}, {2, 4}, {4, 2}}) {
      const auto got = shards(work, kReduceChunksAttr, batch, devices, turns);
      ASSERT_TRUE(got.ok()) << got.status().to_string();
      std::vector<float> sums;
      const std::int64_t elements = (*got)[0].elements();
      for (const Tensor& t : *got) sums.insert(sums.end(), t.data<float>(), t.data<float>() + elements);
      add_chunks_as_tree(sums.data(), devices * turns, elements);
      sums.resize(static_cast<std::size_t>(elements));
      if (first.empty()) {
        first = sums;
        EXPECT_EQ(difference((*got)[0], *plain, tolerance), "");
      }
      EXPECT_EQ(std::memcmp(sums.data(), first.data(), sums.size() * sizeof(float)), 0)
          << devices << " devices, " << turns << " turns";
    }
  }
}

void check_rows(const Work& work) {
  for (const std::int64_t batch : {128, 37, 24}) {
    SCOPED_TRACE(str_cat(work.op, " of ", batch));
    const Team team(2);
    const auto global = run(work, kRowChunksAttr, kReductionChunks, 0, batch);
    ASSERT_TRUE(global.ok()) << global.status().to_string();
    for (const int devices : {2, 4, 8}) {
      const auto got = shards(work, kRowChunksAttr, batch, devices);
      ASSERT_TRUE(got.ok()) << got.status().to_string();
      const auto* at = static_cast<const std::byte*>(global->raw());
      for (const Tensor& shard : *got) {
        EXPECT_EQ(std::memcmp(shard.raw(), at, shard.bytes()), 0) << devices << " devices";
        at += shard.bytes();
      }
    }
  }
}

// dw[m, n] = xᵀ · dy.
Work weights_gradient(std::int64_t m, std::int64_t n) {
  const Tensor x = numbers({128, m}, 1), dy = numbers({128, n}, 2);
  return {"MatMul", {{"transpose_a", true}}, [=](std::int64_t begin, std::int64_t end) {
            return std::vector{x.rows(begin, end), dy.rows(begin, end)};
          }};
}

TEST(ReductionChunks, AreSplitByHalving) {
  const ChunkEnds ends = chunk_ends(37, 8);
  EXPECT_EQ(std::vector(ends.begin(), ends.end()), (Ints{5, 10, 15, 19, 24, 28, 33, 37}));
  for (std::int64_t batch = 0; batch < 70; ++batch) {
    const ChunkEnds global = chunk_ends(batch, 8);
    for (const int devices : {2, 4, 8}) {
      const auto chunks = static_cast<std::size_t>(8 / devices);
      for (int d = 0; d < devices; ++d) {
        const auto rows = shard_batch(batch, Ints(static_cast<std::size_t>(devices), 7), d);
        const ChunkEnds mine = chunk_ends(rows->second - rows->first, static_cast<int>(chunks));
        for (std::size_t i = 0; i < chunks; ++i) {
          EXPECT_EQ(rows->first + mine[i], global[static_cast<std::size_t>(d) * chunks + i]) << batch << "/" << devices;
        }
      }
    }
  }
}

// Widths that fill whole panels of vectors and such that do not, few rows and many, far apart and near.
TEST(ReductionChunks, WeightsOfADenseLayer) {
  for (const auto& [m, n] : {std::pair{64, 64}, {300, 100}, {7, 10}, {6, 1}, {1, 130}, {261, 48}}) {
    check_sums(weights_gradient(m, n), 1e-4);
  }
}

TEST(ReductionChunks, WeightsOfADenseLayerOnEveryVectorUnit) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    check_sums(weights_gradient(50, 90), 1e-4);
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST(ReductionChunks, Bias) {
  for (const Shape& shape : {Shape{128, 10}, {128, 300}, {128, 5, 3, 33}, {128, 9, 9, 64}}) {
    const Tensor x = numbers(shape, 3);
    check_sums(
        {"BiasAddGrad", {}, [=](std::int64_t begin, std::int64_t end) { return std::vector{x.rows(begin, end)}; }},
        1e-3);
  }
}

// Through oneDNN, by Winograd's products and, where the filter outweighs the images, as a product of patches.
TEST(ReductionChunks, Filter) {
  struct Layer {
    Shape image, filter;
    bool winograd = false, depthwise = false;
    std::int64_t stride = 1;
  };
  for (const Layer& layer : {Layer{{128, 12, 12, 1}, {5, 5, 1, 16}},
                             {{128, 8, 8, 16}, {3, 3, 16, 1}, false, true},
                             {{128, 14, 14, 32}, {3, 3, 32, 48}, true},
                             {{128, 14, 14, 32}, {5, 5, 32, 32}, true},
                             {{128, 8, 8, 128}, {3, 3, 128, 112}, true},
                             {{128, 4, 4, 128}, {3, 3, 128, 160}, false, false, 2}}) {
    SCOPED_TRACE(str_cat(layer.image, layer.filter));
    const Tensor x = numbers(layer.image, 1);
    const std::int64_t channels = layer.depthwise ? layer.image[3] : layer.filter[3];
    const Tensor dy = numbers({128, layer.image[1] / layer.stride, layer.image[2] / layer.stride, channels}, 2);
    AttrMap attrs = {{"strides", Ints{1, layer.stride, layer.stride, 1}}, {"padding", std::string("SAME")}};
    if (layer.winograd) attrs.set(kWinogradAttr, true);
    check_sums({layer.depthwise ? "DepthwiseConv2dNativeBackpropFilter" : "Conv2DBackpropFilter", attrs,
                [=](std::int64_t begin, std::int64_t end) {
                  return std::vector{x.rows(begin, end), sizes(layer.filter), dy.rows(begin, end)};
                }},
               5e-3);
  }
}

// k below and above what the packed sgemm would take.
TEST(ReductionChunks, RowsOfADenseLayer) {
  for (const auto& [k, n] : {std::pair{256, 10}, {1500, 70}, {40, 300}}) {
    const Tensor x = numbers({128, k}, 1), dy = numbers({128, n}, 2), w = numbers({k, n}, 3);
    check_rows({"MatMul", {}, [=](std::int64_t begin, std::int64_t end) {
                  return std::vector{x.rows(begin, end), w};
                }});
    check_rows({"MatMul", {{"transpose_b", true}}, [=](std::int64_t begin, std::int64_t end) {
                  return std::vector{dy.rows(begin, end), w};
                }});
  }
}

TEST(ReductionChunks, ImagesOfALayer) {
  for (const bool winograd : {false, true}) {
    const Shape filter{5, 5, 32, 48};
    const Tensor x = numbers({128, 14, 14, 32}, 1), dy = numbers({128, 14, 14, 48}, 2), f = numbers(filter, 3);
    AttrMap attrs = {{"strides", Ints{1, 1, 1, 1}}, {"padding", std::string("SAME")}};
    if (winograd) attrs.set(kWinogradAttr, true);
    check_rows({"Conv2D", attrs, [=](std::int64_t begin, std::int64_t end) {
                  return std::vector{x.rows(begin, end), f};
                }});
    check_rows({"Conv2DBackpropInput", attrs, [=](std::int64_t begin, std::int64_t end) {
                  return std::vector{sizes({end - begin, 14, 14, 32}), f, dy.rows(begin, end)};
                }});
  }
}

}  // namespace
}  // namespace argosy
