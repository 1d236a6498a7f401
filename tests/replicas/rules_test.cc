// Steps in which examples meet, and models: on any number of devices they are one device's.
#include <gtest/gtest.h>

#include <functional>

#include "argosy/graph/gradients.h"
#include "argosy/ops/cast/cast.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/shape/shape.h"
#include "argosy/ops/softmax/softmax.h"
#include "argosy/ops/state/state.h"
#include "argosy/train/loop/compiled_model.h"
#include "argosy/train/models/models.h"
#include "tests/replicas/loss_kinds_test.h"
#include "tests/session/support/test_session.h"

namespace argosy {
namespace {

using loss_kinds::Kind;
using loss_kinds::LossTask;

TEST(DataParallelRules, BatchesOfAnySize) {
  for (const Kind kind : {Kind::kMean, Kind::kRoot}) {
    LossTask task(kind, DType::kFloat64);
    std::vector<std::int64_t> batches;
    for (std::int64_t b = 1; b <= 15; ++b) batches.push_back(b);
    const auto alone = loss_kinds::train(task, batches, 1);
    const auto many = loss_kinds::train(task, batches, 3);
    ASSERT_TRUE(alone.ok() && many.ok()) << many.status().to_string();
    loss_kinds::expect_same(*many, *alone, 1e-9, "batches of 1 to 15 on 3 devices");
  }
}

TEST(DataParallelRules, UnequalShards) {
  LossTask task(Kind::kSeveralTerms, DType::kFloat64);
  const auto alone = loss_kinds::train(task, loss_kinds::kBatches, 1);
  const auto uneven = loss_kinds::train(task, loss_kinds::kBatches, 3, 0, {1.0, 0.5, 0.1});
  ASSERT_TRUE(alone.ok() && uneven.ok()) << uneven.status().to_string();
  loss_kinds::expect_same(*uneven, *alone, 1e-9, "speeds 1, 0.5, 0.1");
}

// --- models ----------------------------------------------------------------------------------------------------------

struct ModelRun {
  std::vector<double> losses;
  std::string summary;
};

// Values for an input: examples of pixels, labels or tokens.
Tensor example_of(Value input, std::int64_t batch, std::uint64_t seed) {
  std::vector<std::int64_t> sizes = input.shape().sizes();
  sizes[0] = batch;
  const Shape shape(sizes);
  if (input.dtype() == DType::kFloat32) return random_tensor(DType::kFloat32, shape, seed, 0, 1);
  std::vector<std::int32_t> labels;
  for (std::int64_t i = 0; i < shape.elements(); ++i) labels.push_back(static_cast<std::int32_t>((i * 7 + 3) % 10));
  return Tensor::of<std::int32_t>(shape, labels);
}

Result<ModelRun> run_model(const ModelBuilder& model, int devices) {
  const Optimizer optimizer = sgd(0.05);
  ARGOSY_ASSIGN_OR_RETURN(BuiltModel built, build_model(model, {.seed = 5}, &optimizer));
  DataParallelOptions options{.losses = {built.model.loss}, .train = {built.train.run}};
  for (const Layers::Input& input : built.inputs) options.batch_inputs.push_back(input.placeholder);
  for (int d = 0; d < devices; ++d) options.devices.push_back(str_cat("/device:GPU:", d));
  ARGOSY_ASSIGN_OR_RETURN(DataParallel dp, DataParallel::make(*built.graph, options));
  ARGOSY_ASSIGN_OR_RETURN(const Value loss, dp.fetch(built.model.loss));
  TestSession session(dp.graph(), {.devices = {.devices = str_cat(devices), .emulate = str_cat(devices)}});
  ARGOSY_RETURN_IF_ERROR(session.run_targets({dp.target(built.initializer)}));
  ModelRun ran{.losses = {}, .summary = dp.summary()};
  for (const std::int64_t batch : {8, 5, 8}) {
    Feeds feeds;
    for (const Layers::Input& input : built.inputs) {
      feeds.emplace_back(dp.input(input.placeholder), example_of(input.placeholder, batch, ran.losses.size()));
    }
    ARGOSY_ASSIGN_OR_RETURN(const auto got, session.run(feeds, {loss}, {dp.target(built.train.run)}));
    ran.losses.push_back(loss_kinds::as_double(got[0]));
  }
  return ran;
}

TEST(DataParallelRules, ModelsMoveGradientsAlone) {
  struct Moved {
    const char* name;
    ModelBuilder model;
    const char* sums;
  };
  const std::vector<Moved> models = {
      {"mlp", models::mlp({}, 32), "1"},
      {"lenet", models::lenet({}), "2"},
      {"autoencoder", models::autoencoder({.image_size = 16, .depth = 2, .width = 8}), "1"},
      {"transformer", models::transformer({.length = 8, .width = 16, .heads = 2, .layers = 1}), "1"}};
  const auto sums = [](const std::string& summary) {
    const std::size_t end = summary.find(" all-reduce"), from = summary.rfind(" in ", end);
    return end == std::string::npos ? std::string("none") : summary.substr(from + 4, end - from - 4);
  };
  for (const auto& [name, model, moved] : models) {
    const auto alone = run_model(model, 1), two = run_model(model, 2);
    ASSERT_TRUE(alone.ok() && two.ok()) << name << ": " << two.status().to_string();
    EXPECT_EQ(sums(two->summary), moved) << name << ": " << two->summary;
    for (std::size_t i = 0; i < alone->losses.size(); ++i) {
      EXPECT_NEAR(two->losses[i], alone->losses[i], 2e-5 * std::abs(alone->losses[i])) << name << ", step " << i;
    }
  }
}

// --- examples that meet -----------------------------------------------------------------------------------------------

constexpr std::int64_t kWidth = 4;
constexpr int kSteps = 2;

// What a loss is made of: rows of a layer, its weights, and integers that are fed beside the rows.
struct Fed {
  Value h, w, ids;
};
using MakeLoss = std::function<Value(const Fed&)>;

Result<std::vector<Tensor>> train(const MakeLoss& make_loss, int devices, std::int64_t batch, std::int64_t fixed = -1) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat64, {fixed, kWidth}, "x");
  const Value ids = placeholder(g, DType::kInt32, {fixed}, "ids");
  const VariableNode w = variable(g, random_tensor(DType::kFloat64, {kWidth, kWidth}, 3), "w");
  const Value loss = make_loss({tanh(matmul(x, w.read)), w.read, ids});
  ARGOSY_RETURN_IF_ERROR(Status(g.status()));
  const Value update = g.add("ApplyGradientDescent", {w.ref, constant(g, 0.3), gradients(g, {loss}, {w.ref})[0]});
  const Value train = group(g, {update});
  ARGOSY_RETURN_IF_ERROR(Status(g.status()));
  std::vector<Value> feeds = {x, ids};
  std::vector<Value> used;
  for (const Value& v : feeds) {
    if (!g.consumers()[v.node().index].empty()) used.push_back(v);
  }
  DataParallelOptions options{.losses = {loss}, .train = {train}, .batch_inputs = used};
  for (int d = 0; d < devices; ++d) options.devices.push_back(str_cat("/device:GPU:", d));
  TestSession alone(g, {.devices = {.devices = "cpu:0"}});
  std::vector<Tensor> out;
  const auto fed = [&](const std::function<Value(Value)>& input, std::uint64_t step) {
    std::vector<std::int32_t> numbers;
    for (std::int64_t i = 0; i < batch; ++i) numbers.push_back(static_cast<std::int32_t>((i * 5 + 1) % batch));
    Feeds f = {{input(x), random_tensor(DType::kFloat64, {batch, kWidth}, 20 + step)}};
    if (used.size() > 1) f.emplace_back(input(ids), Tensor::vector(numbers));
    return f;
  };
  if (devices == 0) {  // the graph as it is
    ARGOSY_RETURN_IF_ERROR(alone.run_targets({w.initializer}));
    for (std::uint64_t i = 0; i < kSteps; ++i) {
      ARGOSY_ASSIGN_OR_RETURN(const auto got, alone.run(fed([](Value v) { return v; }, i), {loss}, {train}));
      out.push_back(got[0]);
    }
    ARGOSY_ASSIGN_OR_RETURN(const auto weights, alone.run({w.read}));
    out.push_back(weights[0]);
    return out;
  }
  ARGOSY_ASSIGN_OR_RETURN(DataParallel dp, DataParallel::make(g, options));
  ARGOSY_ASSIGN_OR_RETURN(const Value global, dp.fetch(loss));
  TestSession session(dp.graph(), {.devices = {.devices = str_cat(devices), .emulate = str_cat(devices)}});
  ARGOSY_RETURN_IF_ERROR(session.run_targets({dp.target(w.initializer)}));
  for (std::uint64_t i = 0; i < kSteps; ++i) {
    ARGOSY_ASSIGN_OR_RETURN(const auto got,
                            session.run(fed([&](Value v) { return dp.input(v); }, i), {global}, {dp.target(train)}));
    out.push_back(got[0]);
  }
  std::vector<Value> mirrors = {dp.input(w.ref)};
  for (int d = 1; d < devices; ++d) {
    ARGOSY_ASSIGN_OR_RETURN(mirrors.emplace_back(), dp.graph().value(str_cat(w.ref.node_name(), "/replica_", d)));
  }
  ARGOSY_ASSIGN_OR_RETURN(const auto weights, session.run(mirrors));
  for (const Tensor& t : weights) {
    if (const std::string other = difference(t, weights[0], 0); !other.empty()) {
      return internal_error("mirrors differ: ", other);
    }
  }
  out.push_back(weights[0]);
  return out;
}

void expect_one_devices(const std::string& what, const MakeLoss& make_loss, std::int64_t fixed = -1) {
  for (const std::int64_t batch : fixed > 0 ? std::vector<std::int64_t>{fixed} : std::vector<std::int64_t>{8, 7, 2}) {
    const auto alone = train(make_loss, 0, batch, fixed);
    ASSERT_TRUE(alone.ok()) << what << ": " << alone.status().to_string();
    for (const int devices : {2, 3}) {
      const auto many = train(make_loss, devices, batch, fixed);
      ASSERT_TRUE(many.ok()) << what << ", " << devices << " devices: " << many.status().to_string();
      for (std::size_t i = 0; i < alone->size(); ++i) {
        EXPECT_EQ(difference((*many)[i], (*alone)[i], 1e-10), "")
            << what << ", " << devices << " devices, batch of " << batch << ", value " << i;
      }
    }
  }
}

TEST(DataParallelRules, TheLargestExample) {
  expect_one_devices("largest", [](const Fed& f) { return reduce_max(square(f.h)); });
  expect_one_devices("smallest, per column", [](const Fed& f) { return reduce_sum(reduce_min(f.h, 0)); });
  expect_one_devices("less the largest", [](const Fed& f) { return reduce_mean(exp(f.h - reduce_max(f.h))); });
}

TEST(DataParallelRules, PairsOfExamples) {
  const auto pairs = [](Value h) { return matmul(h, transpose(h, {1, 0})); };
  expect_one_devices("contrastive", [&](const Fed& f) {
    return reduce_mean(log(reduce_sum(exp(pairs(f.h)), 1)) - reduce_sum(square(f.h), 1));
  });
  expect_one_devices("distances", [&](const Fed& f) {
    const Value norms = reduce_sum(square(f.h), 1);
    return reduce_mean(tanh(expand_dims(norms, 1) + expand_dims(norms, 0) - 2.0 * pairs(f.h)));
  });
}

TEST(DataParallelRules, AlongTheBatch) {
  expect_one_devices("softmax", [](const Fed& f) {
    return reduce_sum(softmax(transpose(f.h, {1, 0})) * transpose(f.h, {1, 0}));
  });
  expect_one_devices("running sum", [](const Fed& f) {
    Graph& g = f.h.graph();
    return reduce_mean(square(g.add("Cumsum", {f.h, constant(g, 0)})));
  });
  expect_one_devices("band", [](const Fed& f) {
    Graph& g = f.h.graph();
    const Value two = constant(g, std::int64_t{2});
    return reduce_mean(square(g.add("MatrixBandPart", {f.h, two, two})));
  });
  expect_one_devices("largest two of each column", [](const Fed& f) {
    Graph& g = f.h.graph();
    return reduce_mean(square(g.add("TopKV2", {transpose(f.h, {1, 0}), constant(g, 2)})));
  });
  expect_one_devices("backwards", [](const Fed& f) {
    Graph& g = f.h.graph();
    return reduce_mean(f.h * g.add("ReverseV2", {f.h, constant(g, Tensor::vector<std::int32_t>({0}))}));
  });
}

TEST(DataParallelRules, ExamplesByNumber) {
  expect_one_devices("permuted", [](const Fed& f) {
    Graph& g = f.h.graph();
    return reduce_mean(square(f.h - g.add("GatherV2", {f.h, f.ids, constant(g, 0)})));
  });
  expect_one_devices("segments", [](const Fed& f) {
    Graph& g = f.h.graph();
    const Value three = g.add("FloorMod", {f.ids, constant(g, 3)});
    return reduce_sum(square(g.add("UnsortedSegmentSum", {f.h, three, constant(g, 3)})));
  });
  expect_one_devices("distinct", [](const Fed& f) {
    Graph& g = f.h.graph();
    const Value unique = g.add("Unique", {g.add("FloorMod", {f.ids, constant(g, 3)})});
    return reduce_mean(f.h) * cast(size(unique), DType::kFloat64);
  });
}

TEST(DataParallelRules, Moments) {
  expect_one_devices("of the batch", [](const Fed& f) {
    const Value mean = reduce_mean(f.h, {0}), variance = reduce_mean(square(f.h - mean), {0});
    return reduce_mean(tanh((f.h - mean) * rsqrt(variance + 0.01)) * f.h) + reduce_max(variance);
  });
}

// Python wrote the size of the batch into the graph.
TEST(DataParallelRules, ABatchOfFixedSize) {
  expect_one_devices(
      "divided by it",
      [](const Fed& f) {
        const Value rows = reshape(f.h, {8 * kWidth});
        return reduce_sum(reshape(rows, {8, kWidth}) * 0.5) / 8.0 + reduce_max(f.h);
      },
      8);
}

}  // namespace
}  // namespace argosy
