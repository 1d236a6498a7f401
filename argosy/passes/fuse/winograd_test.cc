#include "argosy/passes/fuse/winograd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "argosy/ops/collective/reduction_chunks.h"
#include "argosy/ops/collective/turns.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/conv/winograd/winograd.h"
#include "argosy/ops/evaluate.h"
#include "argosy/ops/ops.h"
#include "argosy/passes/optimize.h"
#include "argosy/testing/expect_rewrite.h"

namespace argosy {
namespace {

constexpr double kAnyScratch = 1e9;

struct Sizes {
  std::int64_t batch, side, in, out;
  std::int64_t window = 3, stride = 1, dilation = 1;
};

// A convolution and its two gradients, of one dtype.
struct Task {
  Graph graph;
  Value x, filter, dy;
  std::vector<Value> results;

  explicit Task(const Sizes& s, DType dtype = DType::kFloat32) {
    const auto fed = [&](const PartialShape& shape, const char* name) {
      return graph.add("Placeholder", {}, {{"dtype", dtype}, {"shape", shape}}, name);
    };
    const std::int64_t side = (s.side + s.stride - 1) / s.stride;
    x = fed(Shape{s.batch, s.side, s.side, s.in}, "x");
    filter = fed(Shape{s.window, s.window, s.in, s.out}, "filter");
    dy = fed(Shape{s.batch, side, side, s.out}, "dy");
    const AttrMap attrs = {{"strides", std::vector<std::int64_t>{1, s.stride, s.stride, 1}},
                           {"dilations", std::vector<std::int64_t>{1, s.dilation, s.dilation, 1}},
                           {"padding", "SAME"}};
    const auto sizes = [&](const Value& v) {
      std::vector<std::int32_t> ints(v.shape().sizes().begin(), v.shape().sizes().end());
      return constant(graph, Tensor::vector<std::int32_t>(ints));
    };
    results = {graph.add("Conv2D", {x, filter}, attrs), graph.add("Conv2DBackpropInput", {sizes(x), filter, dy}, attrs),
               graph.add("Conv2DBackpropFilter", {x, sizes(filter), dy}, attrs)};
  }
  StepGraph step() const {
    StepSignature signature;
    for (const Value& v : results) signature.fetches.push_back(v.endpoint());
    auto made = prune_step(graph, signature);
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    return *std::move(made);
  }
};

int marked(const Sizes& sizes) {
  Task task(sizes);
  EXPECT_TRUE(task.graph.status().ok()) << task.graph.status().to_string();
  StepGraph step = task.step();
  const int count = winograd(step, kAnyScratch).value();
  int found = 0;
  for (const Node& n : step.graph.nodes()) found += n.attrs.get_or(kWinogradAttr, false) ? 1 : 0;
  EXPECT_EQ(count, found);
  return found;
}

// Numbers in (-1, 1), the same in every dtype.
Tensor numbers(const PartialShape& shape, DType dtype, std::uint64_t state) {
  Tensor t = Tensor::zeros(dtype, shape.full().value());
  for (std::int64_t i = 0; i < t.elements(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const float x = static_cast<float>(state >> 40) * 0x1p-23f - 1;
    if (dtype == DType::kFloat64) {
      t.data<double>()[i] = x;
    } else {
      t.data<float>()[i] = x;
    }
  }
  return t;
}

TEST(Winograd, MarksWhatGains) {
  EXPECT_EQ(marked({8, 56, 64, 64}), 3);  // a convolution and both its gradients
  EXPECT_EQ(marked({4, 16, 64, 64}), 3);  // just enough tiles
  EXPECT_EQ(marked({2, 16, 64, 64}), 0);
  EXPECT_EQ(marked({8, 7, 512, 512}), 3);  // few tiles, large filters
  EXPECT_EQ(marked({4, 7, 512, 512}), 3);
  EXPECT_EQ(marked({2, 7, 512, 512}), 0);
  EXPECT_EQ(marked({32, 32, 16, 16}), 0);  // too few channels
  EXPECT_EQ(marked({8, 56, 64, 72}), 0);   // not in whole blocks
  EXPECT_EQ(marked({64, 5, 64, 64}), 0);   // most of a tile unused
  EXPECT_EQ(marked({128, 14, 32, 64, 5}), 3);
  EXPECT_EQ(marked({8, 56, 64, 64, 7}), 0);
  EXPECT_EQ(marked({8, 56, 64, 64, 3, 2}), 0);
  EXPECT_EQ(marked({8, 56, 64, 64, 3, 1, 2}), 0);
}

// Three convolutions that hold some 50 MB, beside another value of the step.
TEST(Winograd, KnowsItsPlaceAndMayBeSwitchedOff) {
  const auto notes = [](std::int64_t more, const std::string& without) {
    Task task({8, 56, 64, 64});
    const Value large =
        task.graph.add("Placeholder", {}, {{"dtype", DType::kFloat32}, {"shape", PartialShape({more})}});
    task.results.push_back(task.graph.add("Neg", {large}));
    const auto step = prepare_step(task.step(), {.without = without});
    EXPECT_TRUE(step.ok()) << step.status().to_string();
    return step->notes;
  };
  EXPECT_THAT(notes(1 << 27, ""), testing::Contains(testing::HasSubstr("winograd: 3 convolutions")));
  EXPECT_THAT(notes(1, ""), testing::Not(testing::Contains(testing::HasSubstr("winograd: 3 convolutions"))));
  EXPECT_THAT(notes(1 << 27, "winograd"), testing::Contains("winograd: off"));
}

// A device that takes turns has the same nodes several times, and their sums: the choice is that of one turn.
TEST(Winograd, ChoosesForTurnsAsForAllOfTheBatch) {
  const auto marked_with = [](int turns, double share) {
    Graph graph;
    std::vector<Endpoint> fetches;
    const std::int64_t batch = 16 / turns;
    for (std::int64_t turn = 0; turn < turns; ++turn) {
      const auto fed = [&](const PartialShape& shape) {
        return graph.add("Placeholder", {}, {{"dtype", DType::kFloat32}, {"shape", shape}, {kTurnAttr, turn}});
      };
      const Value x = fed(Shape{batch, 56, 56, 64}), filter = fed(Shape{3, 3, 64, 64});
      const Value y = graph.add("Conv2D", {x, filter},
                                {{"strides", std::vector<std::int64_t>{1, 1, 1, 1}},
                                 {"padding", "SAME"},
                                 {kTurnAttr, turn},
                                 {kRowChunksAttr, std::int64_t{kReductionChunks / turns}}});
      fetches.push_back(y.endpoint());
      if (turn == 0) continue;
      fetches.push_back(graph.add("AddV2", {x, x}, {{kTurnSumAttr, turn}}).endpoint());
    }
    auto step = prune_step(graph, {.fetches = fetches});
    EXPECT_TRUE(step.ok()) << step.status().to_string();
    return winograd(*step, share).value() / turns;
  };
  int chosen = 0, left = 0;
  for (double share = 0.01; share < 3; share *= 1.1) {
    const int one = marked_with(1, share);
    (one > 0 ? chosen : left) += 1;
    for (const int turns : {2, 4, 8}) EXPECT_EQ(marked_with(turns, share), one) << turns << " turns, share " << share;
  }
  EXPECT_GT(chosen, 0);
  EXPECT_GT(left, 0);
}

// Against double: within 3e-6 of the result's root mean square for 3x3 windows, 6e-6 for 5x5.
TEST(Winograd, RoundsAsItsHeaderSays) {
  for (const Sizes& sizes :
       {Sizes{1, 56, 64, 64}, {4, 17, 32, 64}, {4, 16, 128, 64}, {8, 14, 32, 64, 5}, {3, 23, 80, 48, 5}}) {
    SCOPED_TRACE(str_cat(sizes.side, " ", sizes.in, "-", sizes.out, ", window ", sizes.window));
    const Task narrow(sizes), wide(sizes, DType::kFloat64);
    const auto run = [&](const Task& task, StepGraph step, DType dtype) {
      std::unordered_map<Endpoint, Tensor> feeds;
      std::uint64_t seed = 1;
      for (const Value& v : {task.x, task.filter, task.dy}) {
        feeds[{*step.graph.find(v.node_name()), 0}] = numbers(v.shape(), dtype, seed++);
      }
      auto values = evaluate(step.graph, feeds, step.fetches);
      EXPECT_TRUE(values.ok()) << values.status().to_string();
      return *std::move(values);
    };
    StepGraph step = narrow.step();
    ASSERT_EQ(winograd(step, kAnyScratch).value(), 3);
    const auto got = run(narrow, std::move(step), DType::kFloat32);
    const auto want = run(wide, wide.step(), DType::kFloat64);
    for (std::size_t k = 0; k < got.size(); ++k) {
      double error = 0, size = 0;
      for (std::int64_t i = 0; i < want[k].elements(); ++i) {
        const double w = want[k].data<double>()[i], e = static_cast<double>(got[k].data<float>()[i]) - w;
        error += e * e;
        size += w * w;
      }
      EXPECT_GT(size, 0);
      EXPECT_LT(std::sqrt(error / size), sizes.window == 3 ? 3e-6 : 6e-6) << "product " << k;
    }
  }
}

// The pass without a limit.
Result<int> with_any_scratch(StepGraph& step) { return winograd(step, kAnyScratch); }

TEST(Winograd, AConvolutionThatGainsIsMarked) {
  expect_rewrite(with_any_scratch, R"(
    x = Placeholder [dtype=float, shape=shape[8,56,56,64]]
    filter = Placeholder [dtype=float, shape=shape[3,3,64,64]]
    y = Conv2D(x, filter) [strides=[1, 1, 1, 1], padding="SAME"]
    -> y)",
                 R"(
    x = Placeholder [dtype=float, shape=shape[8,56,56,64]]
    filter = Placeholder [dtype=float, shape=shape[3,3,64,64]]
    y = Conv2D(x, filter) [strides=[1, 1, 1, 1], padding="SAME", _winograd=true]
    -> y)");
}

TEST(Winograd, AWideWindowIsLeftAlone) {
  expect_left_alone(with_any_scratch, R"(
    x = Placeholder [dtype=float, shape=shape[8,56,56,64]]
    filter = Placeholder [dtype=float, shape=shape[7,7,64,64]]
    y = Conv2D(x, filter) [strides=[1, 1, 1, 1], padding="SAME"]
    -> y)");
}

}  // namespace
}  // namespace argosy
