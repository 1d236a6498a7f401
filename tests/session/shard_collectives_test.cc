// Collectives between values and their shards, as nodes over emulated devices.
#include "argosy/ops/collective/shard_collectives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "argosy/ops/collective/collective.h"
#include "argosy/ops/collective/shard_batch.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/state/state.h"
#include "argosy/runtime/session/session.h"
#include "argosy/testing/op_cases/op_case.h"
#include "tests/session/support/test_session.h"

namespace argosy {
namespace {

using testing::HasSubstr;
using Ints = std::vector<std::int64_t>;

bool equal_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

Tensor numbers(DType dtype, const Shape& shape, int seed) {
  const auto number = static_cast<std::uint64_t>(seed) + 1;
  if (!is_complex(dtype)) return cast_to(random_tensor(DType::kFloat32, shape, number, -3, 3), dtype);
  // Complex numbers are pairs of real ones.
  const DType real = dtype == DType::kComplex64 ? DType::kFloat32 : DType::kFloat64;
  const Tensor pairs = random_tensor(real, {2 * shape.elements()}, number, -3, 3);
  const Tensor t = Tensor::zeros(dtype, shape);
  if (t.bytes() > 0) std::memcpy(t.raw(), pairs.raw(), t.bytes());
  return t;
}

// Rows [begin, end) along an axis, in the host's memory.
Tensor part_of(const Tensor& t, int axis, std::int64_t begin, std::int64_t end) {
  std::int64_t outer = 1, inner = static_cast<std::int64_t>(element_bytes(t.dtype()));
  for (int i = 0; i < axis; ++i) outer *= t.shape()[i];
  for (int i = axis + 1; i < t.shape().rank(); ++i) inner *= t.shape()[i];
  const Tensor part = Tensor::zeros(t.dtype(), t.shape().with(axis, end - begin));
  for (std::int64_t o = 0; o < outer && end > begin; ++o) {
    std::memcpy(static_cast<std::byte*>(part.raw()) + o * (end - begin) * inner,
                static_cast<const std::byte*>(t.raw()) + (o * t.shape()[axis] + begin) * inner,
                static_cast<std::size_t>((end - begin) * inner));
  }
  return part;
}
Tensor shard_of(const Tensor& t, int axis, const Ints& weights, int rank) {
  const auto rows = shard_batch(t.shape()[axis], weights, rank).value();
  return part_of(t, axis, rows.first, rows.second);
}

// Weights of ranks: equal, unequal, and one that gets nothing.
std::vector<Ints> weights_of(int ranks) {
  std::vector<Ints> all = {Ints(static_cast<std::size_t>(ranks), 1)};
  if (ranks == 1) return all;
  Ints uneven, empty;
  for (int r = 0; r < ranks; ++r) {
    uneven.push_back(3 * r + 1);
    empty.push_back(r == ranks / 2 ? 0 : 2);
  }
  all.push_back(uneven);
  all.push_back(empty);
  return all;
}

class ShardCollectives : public testing::TestWithParam<int> {
 protected:
  Graph::Scope on(int d) { return graph.device(str_cat("/gpu:", d)); }
  std::vector<Tensor> run(const std::vector<Value>& values) {
    EXPECT_TRUE(graph.status().ok()) << graph.status().to_string();
    TestSession session(graph, {.devices = {.emulate = str_cat(GetParam())}});
    const auto out = session.run(values);
    EXPECT_TRUE(out.ok()) << out.status().to_string();
    return out.ok() ? *out : std::vector<Tensor>(values.size());
  }

  Graph graph;
};

TEST_P(ShardCollectives, AReduceScatterIsTheRowsOfAnAllReduce) {
  const int ranks = GetParam();
  const std::vector<Shape> shapes = {{13, 5}, {2, 7}, {0, 3}};
  using enum DType;
  for (const DType dtype : {kFloat32, kFloat64, kFloat16, kBfloat16, kInt8, kInt16, kInt32, kInt64, kUint8, kUint16,
                            kUint32, kUint64, kComplex64, kComplex128}) {
    if (dtype != kFloat32 && ranks != 2) continue;
    for (const int total : {ranks, 8}) {
      for (const Ints& weights : weights_of(ranks)) {
        for (const int dim : {0, 1}) {
          graph = Graph();
          std::vector<std::vector<Value>> values(static_cast<std::size_t>(ranks));
          std::vector<Ints> shards(static_cast<std::size_t>(ranks));
          for (int s = 0; s < total; ++s) {
            const auto r = static_cast<std::size_t>(s % ranks);
            const auto here = on(s % ranks);
            shards[r].push_back(s);
            for (const Shape& shape : shapes) values[r].push_back(constant(graph, numbers(dtype, shape, s)));
          }
          std::vector<Value> sums, parts;
          for (int r = 0; r < ranks; ++r) {
            const auto here = on(r);
            const auto i = static_cast<std::size_t>(r);
            const auto all =
                all_reduce(values[i], {.group = "sum", .rank = r, .size = ranks, .shards = shards[i], .total = total});
            if (r == 0) sums = all;
            const auto mine =
                reduce_scatter(values[i], {"part", r, ranks, weights}, {.shards = shards[i], .total = total}, dim);
            ASSERT_EQ(mine.size(), shapes.size()) << graph.status().to_string();
            parts.insert(parts.end(), mine.begin(), mine.end());
          }
          sums.insert(sums.end(), parts.begin(), parts.end());
          const auto out = run(sums);
          for (int r = 0; r < ranks; ++r) {
            for (std::size_t i = 0; i < shapes.size(); ++i) {
              const Tensor& got = out[shapes.size() * static_cast<std::size_t>(r + 1) + i];
              const Tensor expected = shard_of(out[i], dim, weights, r);
              EXPECT_TRUE(equal_bits(got, expected)) << dtype_name(dtype) << " rank " << r << " dim " << dim << ": "
                                                     << got.to_string(20) << " not " << expected.to_string(20);
              EXPECT_EQ(parts[shapes.size() * static_cast<std::size_t>(r) + i].shape().to_string(),
                        got.shape().to_string());
            }
          }
        }
      }
    }
  }
}

TEST_P(ShardCollectives, AnAllGatherGivesTheGlobalValues) {
  const int ranks = GetParam();
  const std::vector<Tensor> globals = {numbers(DType::kFloat32, {13, 6}, 1), numbers(DType::kFloat32, {1, 9}, 2),
                                       numbers(DType::kFloat32, {0, 8}, 3)};
  for (const Ints& weights : weights_of(ranks)) {
    for (const int dim : {0, 1}) {
      graph = Graph();
      std::vector<Value> all;
      for (int r = 0; r < ranks; ++r) {
        const auto here = on(r);
        std::vector<Value> parts;
        Ints sizes;
        for (const Tensor& t : globals) {
          parts.push_back(constant(graph, shard_of(t, dim, weights, r)));
          sizes.push_back(t.shape()[dim]);
        }
        const auto values = all_gather(parts, sizes, {"all", r, ranks, weights}, dim);
        all.insert(all.end(), values.begin(), values.end());
      }
      const auto out = run(all);
      for (std::size_t i = 0; i < out.size(); ++i) {
        EXPECT_TRUE(equal_bits(out[i], globals[i % globals.size()])) << "value " << i << ": " << out[i].to_string(20);
        EXPECT_EQ(all[i].shape().to_string(), out[i].shape().to_string());
      }
    }
  }
}

TEST_P(ShardCollectives, AnAllToAllTurnsShardsOfOneAxisIntoShardsOfAnother) {
  const int ranks = GetParam();
  const std::vector<Tensor> globals = {numbers(DType::kFloat32, {5, 7, 3}, 1), numbers(DType::kFloat32, {9, 2, 4}, 2)};
  for (const Ints& weights : weights_of(ranks)) {
    for (const auto& [from, to] : {std::pair{0, 1}, {1, 0}, {2, 1}, {0, 2}}) {
      graph = Graph();
      std::vector<Value> all;
      for (int r = 0; r < ranks; ++r) {
        const auto here = on(r);
        std::vector<Value> parts;
        Ints sizes;
        for (const Tensor& t : globals) {
          parts.push_back(constant(graph, shard_of(t, from, weights, r)));
          sizes.push_back(t.shape()[from]);
        }
        const Value along = constant(graph, Tensor::vector<std::int64_t>(sizes));
        const auto values = all_to_all(parts, along, {"all", r, ranks, weights}, from, to);
        all.insert(all.end(), values.begin(), values.end());
      }
      const auto out = run(all);
      for (std::size_t i = 0; i < out.size(); ++i) {
        const Tensor expected =
            shard_of(globals[i % globals.size()], to, weights, static_cast<int>(i / globals.size()));
        EXPECT_TRUE(equal_bits(out[i], expected)) << from << " to " << to << ", value " << i;
      }
    }
  }
}

// Each rank writes its own elements; then all have all.
TEST_P(ShardCollectives, VariablesAreGatheredInPlace) {
  const int ranks = GetParam();
  for (const bool resource : {false, true}) {
    for (const Ints& weights : weights_of(ranks)) {
      graph = Graph();
      const Tensor expected = numbers(DType::kFloat32, {7, 5}, 4), small = numbers(DType::kFloat32, {3}, 5);
      std::vector<Value> first, gathered, reads;
      std::vector<std::vector<Value>> variables(static_cast<std::size_t>(ranks));
      for (int r = 0; r < ranks; ++r) {
        const auto here = on(r);
        for (const Tensor& t : {expected, small}) {
          const Tensor mine = Tensor::zeros(DType::kFloat32, t.shape());
          const auto own = shard_batch(t.elements(), weights, r).value();
          for (std::int64_t i = own.first; i < own.second; ++i) mine.data<float>()[i] = t.data<float>()[i];
          const std::string name = str_cat("v", variables[static_cast<std::size_t>(r)].size(), "_", r);
          const Value kept =
              resource
                  ? graph.add("VarHandleOp", {}, {{"dtype", DType::kFloat32}, {"shape", PartialShape(t.shape())}}, name)
                  : graph.add("VariableV2", {}, {{"dtype", DType::kFloat32}, {"shape", PartialShape(t.shape())}}, name);
          variables[static_cast<std::size_t>(r)].push_back(kept);
          first.push_back(resource ? graph.add("AssignVariableOp", {kept, constant(graph, mine)})
                                   : graph.add("Assign", {kept, constant(graph, mine)}).control());
        }
        const Value all =
            all_gather_variables(variables[static_cast<std::size_t>(r)], DType::kFloat32, {"all", r, ranks, weights});
        gathered.push_back(all);
        for (const Value& v : variables[static_cast<std::size_t>(r)]) {
          reads.push_back(resource ? graph.add("ReadVariableOp", {v}, {{"dtype", DType::kFloat32}})
                                   : graph.add("Identity", {v}));
        }
      }
      ASSERT_TRUE(graph.status().ok()) << graph.status().to_string();
      TestSession session(graph, {.devices = {.emulate = str_cat(ranks)}});
      ASSERT_TRUE(session.run_targets(first).ok());
      const Status ran = session.run_targets(gathered);
      ASSERT_TRUE(ran.ok()) << ran.to_string();
      const auto out = session.run(reads);
      ASSERT_TRUE(out.ok()) << out.status().to_string();
      for (std::size_t i = 0; i < out->size(); ++i) {
        EXPECT_TRUE(equal_bits((*out)[i], i % 2 == 0 ? expected : small)) << "variable " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, ShardCollectives, testing::Values(1, 2, 3, 4, 8));

TEST(ShardCollectivesThatDisagree, GetOneError) {
  Graph graph;
  const auto scatter = [&](int r, const Shape& shape, std::string_view group) {
    const auto here = graph.device(str_cat("/gpu:", r));
    return reduce_scatter({constant(graph, numbers(DType::kFloat32, shape, r))}, {std::string(group), r, 2})[0];
  };
  const std::vector<Value> sizes = {scatter(0, {4}, "a"), scatter(1, {6}, "a")};
  const std::vector<Value> shapes = {scatter(0, {4, 6}, "b"), scatter(1, {6, 4}, "b")};
  std::vector<Value> totals;
  for (int r = 0; r < 2; ++r) {
    const auto here = graph.device(str_cat("/gpu:", r));
    const Value part = constant(graph, numbers(DType::kFloat32, {2}, r));
    totals.push_back(all_gather({part}, Ints{4 - r}, {"c", r, 2, {1, 1 + r}})[0]);
  }
  ASSERT_TRUE(graph.status().ok()) << graph.status().to_string();
  TestSession session(graph, {.devices = {.emulate = "2"}, .optimize = false});
  for (const std::vector<Value>& values : {sizes, shapes, totals}) {
    const Status ran = session.run(values).status();
    EXPECT_EQ(ran.code(), Code::kInvalidArgument) << ran.to_string();
    EXPECT_EQ(ran.id(), "ARG-COMM-001") << ran.to_string();
  }
}

TEST(ShardCollectivesBuilt, WrongNodesAreRefused) {
  const auto fails = [](const auto& build, std::string_view why) {
    Graph graph;
    const Value x = placeholder(graph, DType::kFloat32, {4, 6}), number = constant(graph, 1.0F);
    build(x, number);
    EXPECT_EQ(graph.status().code(), Code::kInvalidArgument);
    EXPECT_THAT(graph.status().message(), HasSubstr(why));
  };
  fails([](Value x, Value) { reduce_scatter({x}, {"g", 2, 2}); }, "rank 2 of a group of 2");
  fails([](Value x, Value) { reduce_scatter({x}, {"", 0, 2}); }, "the group has no name");
  fails([](Value x, Value) { reduce_scatter({x}, {"g", 0, 2, {1, 1, 1}}); }, "3 weights for 2 ranks");
  fails([](Value x, Value) { reduce_scatter({x}, {"g", 0, 2}, {.shards = {2}, .total = 2}); }, "shard 2 of 2");
  fails([](Value x, Value) { reduce_scatter({x}, {"g", 0, 2}, {}, 2); }, "has no axis 2");
  fails([](Value, Value number) { reduce_scatter({number}, {"g", 0, 2}); }, "a scalar has no rows");
  fails(
      [](Value x, Value) {
        all_gather({x}, Ints{7}, {"g", 0, 2, {1, 2}});
      },
      "has 4 rows; the shard of rank 0 of 7 has 3");
  fails([](Value x, Value) { all_gather({x}, Ints{8, 8}, {"g", 0, 2}); }, "2 sizes of 1 values");
  fails([](Value x, Value) { all_to_all({x}, x, {"g", 0, 2}, 1, 1); }, "axis 1 is split already");
}

}  // namespace
}  // namespace argosy
