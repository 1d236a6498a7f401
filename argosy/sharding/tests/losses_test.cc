// The proof of the core: losses of many kinds, and what they do to gradients, equal one device on any number of devices
// and for any batch. Nothing here tells the core what a loss, a gradient or a mean is.
#include <gtest/gtest.h>

#include <cstdio>

#include "argosy/graph/gradients.h"
#include "argosy/ops/activation/activation.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/conv/conv.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/evaluate.h"
#include "argosy/ops/gather/gather.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/pool/pool.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/scan/scan.h"
#include "argosy/ops/segment/segment.h"
#include "argosy/ops/select/select.h"
#include "argosy/ops/shape/shape.h"
#include "argosy/ops/softmax/softmax.h"
#include "argosy/sharding/tests/training_trial_test.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

// A network of two layers in float64.
struct Net {
  Graph* g = nullptr;
  Value x, target, weight, ids;  // fed: [batch, 6], [batch, 3], [batch], a permutation of the batch
  Value h, prediction, errors;   // [batch, 4], [batch, 3], [batch]
  std::vector<VariableNode> v;   // w0, b0, w1, b1
};

using MakeLoss = std::function<Value(Net&)>;
using Change = std::function<std::vector<Value>(std::vector<Value>)>;  // of gradients

struct LossCase {
  std::string name;
  MakeLoss loss;
  std::string collectives;  // of a plan for four devices
  Change change = {};
};

Tensor permutation(std::int64_t batch, std::uint64_t seed) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < batch; ++i)
    ids.push_back(static_cast<std::int32_t>((batch - 1 - i + static_cast<std::int64_t>(seed)) % batch));
  return Tensor::vector(ids);
}

TrainingTrial make(const LossCase& c) {
  TrainingTrial t;
  Graph& g = t.graph;
  Net net{.g = &g};
  net.x = placeholder(g, DType::kFloat64, {-1, 6}, "x");
  net.target = placeholder(g, DType::kFloat64, {-1, 3}, "target");
  net.weight = placeholder(g, DType::kFloat64, {-1}, "weight");
  net.ids = placeholder(g, DType::kInt32, {-1}, "ids");
  const auto parameter = [&](const Shape& shape, const char* name) {
    net.v.push_back(variable(g, random_tensor(DType::kFloat64, shape, 7 + net.v.size(), -0.6, 0.6), name));
    return net.v.back().read;
  };
  const Value w0 = parameter({6, 4}, "w0"), b0 = parameter({4}, "b0");
  net.h = tanh(bias_add(matmul(net.x, w0), b0));
  const Value w1 = parameter({4, 3}, "w1"), b1 = parameter({3}, "b1");
  net.prediction = matmul(net.h, w1) + b1;
  net.errors = reduce_sum(square(net.prediction - net.target), 1);
  const Value loss = c.loss(net);
  std::vector<Value> of;
  for (const VariableNode& v : net.v) of.push_back(v.ref);
  std::vector<Value> grads = gradients(g, {loss}, of, {.allow_unconnected = true});
  if (c.change) grads = c.change(grads);
  std::vector<Value> updates;
  for (std::size_t i = 0; i < grads.size(); ++i) {
    if (grads[i].valid()) updates.push_back(g.add("ApplyGradientDescent", {of[i], constant(g, 0.1), grads[i]}));
  }
  t.feeds = {net.x, net.target, net.weight, net.ids};
  t.fetches = {loss};
  t.train = {group(g, updates, "train").node()};
  t.variables = net.v;
  t.feed_value = [](std::size_t feed, std::int64_t batch, std::uint64_t seed) {
    return feed == 3 ? std::optional(permutation(batch, seed)) : std::nullopt;
  };
  return t;
}

std::vector<Value> clip_by_global_norm(std::vector<Value> grads) {
  Value norm;
  for (const Value& v : grads) {
    const Value own = reduce_sum(square(v));
    norm = norm.valid() ? norm + own : own;
  }
  const Value scale = minimum(0.05 / sqrt(norm), 1.0);
  for (Value& v : grads) v = v * scale;
  return grads;
}

Value global_batch_norm(Net& n) {
  const Value mean = reduce_mean(n.h, {0});
  const Value variance = reduce_mean(square(n.h - mean), {0});
  return (n.h - mean) * rsqrt(variance + 0.1);
}

std::vector<LossCase> cases() {
  const auto decay = [](Net& n) { return l2_loss(n.v[0].read) * 0.1; };
  return {
      {"mean", [](Net& n) { return reduce_mean(n.errors); }, "all-reduce 5"},
      {"sum", [](Net& n) { return reduce_sum(n.errors); }, "all-reduce 5"},
      {"mean and decay", [=](Net& n) { return reduce_mean(n.errors) + decay(n); }, "all-reduce 5"},
      {"sum and decay", [=](Net& n) { return reduce_sum(n.errors) + decay(n); }, "all-reduce 5"},
      {"weighted mean", [](Net& n) { return reduce_sum(n.errors * n.weight) / reduce_sum(n.weight); }, "all-reduce 6"},
      {"several terms",
       [=](Net& n) {
         return reduce_sum(n.errors * n.weight) / reduce_sum(n.weight) + reduce_mean(n.errors) * 0.5 + decay(n);
       },
       "all-reduce 6"},
      {"root of a mean, log of a sum",
       [=](Net& n) { return sqrt(reduce_mean(n.errors)) + log(reduce_sum(n.errors * n.weight)) + decay(n); },
       "all-reduce 6"},
      {"trained weights",
       [](Net& n) {
         const Value w = sigmoid(reduce_mean(n.h, {1}));
         return reduce_sum(w * n.errors) / reduce_sum(w);
       },
       "all-reduce 6"},
      {"clip by global norm", [](Net& n) { return reduce_mean(n.errors); }, "all-reduce 5", clip_by_global_norm},
      {"rows less their mean",
       [](Net& n) { return reduce_mean(square(n.h - reduce_mean(n.h, {0})) * n.h) + reduce_mean(n.errors); },
       "all-reduce 7"},
      {"deviation",
       [](Net& n) {
         const Value distance = n.h - reduce_mean(n.h, {0});
         return reduce_mean(tanh(distance / sqrt(reduce_mean(square(distance), {0}) + 0.1)) * n.h) +
                reduce_mean(n.errors);
       },
       "all-reduce 9"},
      {"norm of the global batch",
       [](Net& n) { return reduce_mean(square(global_batch_norm(n))) + reduce_mean(n.errors); }, "all-reduce 9"},
      {"norm of the global batch, clipped",
       [](Net& n) { return reduce_mean(tanh(global_batch_norm(n))) + reduce_mean(n.errors); }, "all-reduce 9",
       clip_by_global_norm},
      {"largest example", [](Net& n) { return reduce_max(n.errors); }, "all-reduce 6"},
      {"pairs",
       [](Net& n) {
         const Value pairs = matmul(n.h, n.h, {.transpose_b = true});
         return reduce_mean(reduce_logsumexp(pairs, {1})) + reduce_mean(n.errors);
       },
       "all-gather 1, all-reduce 5, reduce-scatter 1"},
      {"log of a sum of exponentials", [](Net& n) { return reduce_logsumexp(n.errors); }, "all-reduce 6"},
      {"mean by a number of Python", [](Net& n) { return reduce_sum(n.errors) / 10.0; }, "all-reduce 5"},
      // Refused by data parallelism today.
      {"softmax along the batch",
       [](Net& n) { return reduce_sum(softmax(transpose(n.h)) * transpose(n.h)) + reduce_mean(n.errors); },
       "all-gather 1, all-reduce 6"},
      {"cumulative sums along the batch",
       [](Net& n) { return reduce_mean(square(cumsum(n.h, 0))) + reduce_mean(n.errors); },
       "all-gather 1, all-reduce 5"},
      {"band part", [](Net& n) { return reduce_mean(square(matrix_band_part(n.h, 1, 2))) + reduce_mean(n.errors); },
       "all-gather 1, all-reduce 5"},
      {"permutation", [](Net& n) { return reduce_mean(square(n.h - gather(n.h, n.ids))) + reduce_mean(n.errors); },
       "all-gather 1, all-reduce 5, reduce-scatter 1"},
      {"segment sums by fed ids",
       [](Net& n) {
         const Value sums = unsorted_segment_sum(n.h, n.ids, constant(*n.g, std::int32_t{64}));
         return reduce_sum(square(sums)) + reduce_mean(n.errors);
       },
       "all-reduce 6"},
      {"largest divisor",
       [](Net& n) { return reduce_mean(square(n.h / (2.0 + reduce_max(n.h)))) + reduce_mean(n.errors); },
       "all-reduce 8"},
      {"largest by sorting",
       [](Net& n) {
         const Value top = n.g->add("TopKV2", {n.errors, constant(*n.g, std::int32_t{1})});
         return reduce_sum(top) + reduce_mean(n.errors);
       },
       "all-gather 1, all-reduce 5"},
      {"unique ids",
       [](Net& n) {
         const Value unique = n.g->add("Unique", {floor_div(n.ids, 2)});
         const Value sums = unsorted_segment_sum(n.h, unique.output(1), size(unique));
         return reduce_mean(square(sums)) + reduce_mean(n.errors);
       },
       "all-gather 1, all-reduce 6"},
      {"reversed rows", [](Net& n) { return reduce_mean(square(n.h - reverse(n.h, {0}))) + reduce_mean(n.errors); },
       "all-gather 1, all-reduce 5"},
  };
}

const std::vector<std::int64_t> kBatches = {8, 10, 7, 3, 1, 16};

TEST(ShardingLosses, EqualOneDevice) {
  for (const LossCase& c : cases()) {
    SCOPED_TRACE(c.name);
    const TrainingTrial trial = make(c);
    for (const int devices : {2, 3, 4, 8}) {
      const TrialResult result = run_trial(trial, {.axis = {.name = "data", .size = devices}, .batches = kBatches});
      EXPECT_EQ(result.wrong, "") << devices << " devices";
      EXPECT_GT(result.compared, 100);
      if (devices < 8) {
        EXPECT_EQ(run_lowered(trial, {.axis = {.name = "data", .size = devices}, .batches = kBatches}), "")
            << "lowered, " << devices << " devices";
      }
      for (const int turns : {2, 4}) {
        if (devices % turns != 0 || devices == 2) continue;
        EXPECT_EQ(run_lowered(trial, {.axis = {.name = "data", .size = devices}, .batches = kBatches, .turns = turns}),
                  "")
            << "lowered, " << devices / turns << " devices with " << turns << " shards each";
      }
      if (devices != 4) continue;
      EXPECT_EQ(collectives_text(result), c.collectives);
      std::printf("%-36s %s; %d values\n", c.name.c_str(), collectives_text(result).c_str(), result.compared);
    }
  }
}

TEST(ShardingLosses, UnequalShardsEqualOneDevice) {
  for (const LossCase& c : cases()) {
    SCOPED_TRACE(c.name);
    const TrialResult result = run_trial(
        make(c), {.axis = {.name = "data", .size = 3, .weights = {1000, 500, 100}}, .batches = {8, 10, 7, 3, 16}});
    EXPECT_EQ(result.wrong, "");
    EXPECT_EQ(run_lowered(make(c), {.axis = {.name = "data", .size = 3, .weights = {1000, 500, 100}},
                                    .batches = {8, 10, 7, 3, 16}}),
              "");
  }
}

// The comparison sees what is missing: without any one of its reshards, an assignment computes something else.
TEST(ShardingLosses, EveryReshardIsNeeded) {
  for (const LossCase& c : cases()) {
    if (c.name != "several terms" && c.name != "deviation" && c.name != "pairs") continue;
    SCOPED_TRACE(c.name);
    const TrainingTrial t = make(c);
    const TrialOptions options{.axis = {.name = "data", .size = 3}, .batches = {8, 7}};
    const TrialResult right = run_trial(t, options);
    ASSERT_EQ(right.wrong, "");
    ASSERT_GE(right.reshards.size(), 5u);
    for (std::size_t r = 0; r < right.reshards.size(); ++r) {
      TrialOptions without = options;
      without.change = [r](Assignment& a) { a.reshards.erase(a.reshards.begin() + static_cast<std::ptrdiff_t>(r)); };
      EXPECT_NE(run_trial(t, without).wrong, "")
          << "reshard " << r << " of '" << t.graph.node(right.reshards[r].value.node).name << "' to "
          << to_string(right.reshards[r].to);
    }
  }
}

// One virtual device is the plain evaluator.
TEST(ShardingLosses, OneVirtualDeviceIsOneDevice) {
  const TrainingTrial t = make(cases()[5]);
  const auto sizes = Sizes::find(t.graph, {.batch = {t.feeds[0].node()}, .exactly = 5});
  ASSERT_TRUE(sizes.ok()) << sizes.status().to_string();
  const auto rules = RuleTable::make(t.graph, *sizes);
  ASSERT_TRUE(rules.ok());
  const MeshAxis axis{.name = "data", .size = 1};
  const Assignment a = all_replicated(t.graph);
  VirtualDevices devices(t.graph, *sizes, *rules, axis, a);
  ResourceManager resources;
  std::unordered_map<Endpoint, Tensor> feeds;
  std::vector<Endpoint> initializers, fetched;
  for (const VariableNode& v : t.variables) initializers.push_back({v.initializer.node(), Value::kControl});
  ASSERT_TRUE(evaluate(t.graph, {}, initializers, {.resources = &resources}).ok());
  std::vector<NodeId> targets;
  for (const Endpoint e : initializers) targets.push_back(e.node);
  ASSERT_TRUE(devices.run({}, targets).ok());
  for (std::size_t i = 0; i < t.feeds.size(); ++i) {
    const Shape shape = i == 0 ? Shape{5, 6} : i == 1 ? Shape{5, 3} : Shape{5};
    feeds[t.feeds[i].endpoint()] = i == 3 ? permutation(5, 1) : random_tensor(DType::kFloat64, shape, 40 + i, 0.1, 1);
  }
  ASSERT_TRUE(devices.run({feeds.begin(), feeds.end()}, {t.fetches[0].node(), t.train[0]}).ok());
  const auto values = devices.values();
  ASSERT_TRUE(values.ok()) << values.status().to_string();
  for (const auto& [name, value] : *values) fetched.push_back(name.first);
  fetched.push_back({t.train[0], Value::kControl});
  const auto expected = evaluate(t.graph, feeds, fetched, {.resources = &resources});
  ASSERT_TRUE(expected.ok()) << expected.status().to_string();
  EXPECT_GT(values->size(), 50u);
  for (std::size_t i = 0; i + 1 < fetched.size(); ++i) {
    EXPECT_EQ(difference(values->at({fetched[i], ""}), (*expected)[i], 0), "") << t.graph.node(fetched[i].node).name;
  }
}

// Networks of other kinds of layers, for four devices and fewer examples than devices.
TrainingTrial network(const PartialShape& input, const std::vector<Shape>& variables,
                      const std::function<Value(Graph&, Value x, Value ids, const std::vector<Value>& v)>& loss_of) {
  TrainingTrial t;
  Graph& g = t.graph;
  const Value x = placeholder(g, DType::kFloat64, input, "x"), ids = placeholder(g, DType::kInt32, {-1}, "ids");
  std::vector<Value> reads, of, updates;
  for (const Shape& shape : variables) {
    t.variables.push_back(variable(g, random_tensor(DType::kFloat64, shape, 7 + reads.size(), -0.6, 0.6), "v"));
    reads.push_back(t.variables.back().read);
    of.push_back(t.variables.back().ref);
  }
  const Value loss = loss_of(g, x, ids, reads);
  const std::vector<Value> grads = gradients(g, {loss}, of);
  for (std::size_t i = 0; i < of.size(); ++i) {
    updates.push_back(g.add("ApplyGradientDescent", {of[i], constant(g, 0.1), grads[i]}));
  }
  t.feeds = {x, ids};
  t.fetches = {loss};
  t.train = {group(g, updates, "train").node()};
  t.feed_value = [](std::size_t feed, std::int64_t batch, std::uint64_t seed) {
    return feed == 1 ? std::optional(permutation(batch, seed)) : std::nullopt;
  };
  return t;
}

void expect_equal(const std::string& name, const TrainingTrial& t, const std::string& collectives) {
  for (const int devices : {2, 3, 4}) {
    const TrialResult result = run_trial(t, {.axis = {.name = "data", .size = devices}, .batches = kBatches});
    EXPECT_EQ(result.wrong, "") << name << ", " << devices << " devices";
    EXPECT_EQ(collectives_text(result), collectives) << name;
    for (const WholeNode& w : result.whole) ADD_FAILURE() << name << " gathers: " << w.why;
  }
}

TEST(ShardingLosses, OtherLayersEqualOneDevice) {
  const auto convolution =
      network({-1, 4, 4, 2}, {{3, 3, 2, 3}, {3}, {12, 2}}, [](Graph&, Value x, Value, const std::vector<Value>& v) {
        const Value y = relu(bias_add(conv2d(x, v[0]), v[1]));
        const Value pooled = max_pool(y);
        return reduce_mean(square(matmul(reshape(pooled, {-1, 12}), v[2])));
      });
  expect_equal("convolution", convolution, "all-reduce 4");
  const auto lookup = network({-1, 3}, {{64, 3}}, [](Graph&, Value x, Value ids, const std::vector<Value>& v) {
    return reduce_mean(square(gather(v[0], ids) * x));
  });
  expect_equal("look-up", lookup, "all-reduce 2");
  const auto classes = network({-1, 3}, {{3, 4}}, [](Graph& g, Value x, Value ids, const std::vector<Value>& v) {
    const Value labels = floor_mod(ids, constant(g, std::int32_t{4}));
    return reduce_mean(sparse_softmax_cross_entropy_with_logits(labels, matmul(x, v[0])));
  });
  expect_equal("classes", classes, "all-reduce 2");
  // Time is outside of the batch in the middle, and inside before and after.
  const auto time = network({-1, 3, 2}, {{2, 4}, {4, 2}}, [](Graph&, Value x, Value, const std::vector<Value>& v) {
    const Value inside = tanh(matmul(reshape(x, {-1, 2}), v[0]));
    const Value outside = reshape(transpose(reshape(inside, {-1, 3, 4}), {1, 0, 2}), {-1, 4});
    const Value y = reshape(tanh(matmul(outside, v[1])), {3, -1, 2});
    return reduce_mean(square(reduce_sum(y, {0})));
  });
  expect_equal("time", time, "all-reduce 3");
  const auto dropout = network({-1, 3}, {{3, 4}}, [](Graph& g, Value x, Value, const std::vector<Value>& v) {
    const Value h = matmul(x, v[0]);
    const Value noise = g.add("RandomUniform", {shape(h)}, {{"dtype", DType::kFloat64}, {"seed", 3}, {"seed2", 4}});
    return reduce_mean(square(where(greater(noise, 0.5), h, zeros_like(h))));
  });
  expect_equal("dropout", dropout, "all-reduce 2");
}

// Variables and slots in shards: reads are gathered, gradients scattered, updates stay where they are.
TEST(ShardingLosses, VariablesInShardsEqualOneDevice) {
  const LossCase loss{"mean", [](Net& n) { return reduce_mean(n.errors); }, ""};
  TrainingTrial t = make(loss);
  std::vector<Seed> seeds;
  std::vector<Value> of, updates;
  for (const VariableNode& v : t.variables) of.push_back(v.ref);
  const std::vector<Value> grads = gradients(t.graph, {t.fetches[0]}, of);
  for (std::size_t i = 0; i < of.size(); ++i) {
    Tensor start = Tensor::zeros(DType::kFloat64, *t.variables[i].shape().full());
    t.variables.push_back(variable(t.graph, std::move(start), str_cat("slot", i)));
    updates.push_back(t.graph.add(
        "ApplyMomentum", {of[i], t.variables.back().ref, constant(t.graph, 0.1), grads[i], constant(t.graph, 0.9)}));
    seeds.push_back({of[i].endpoint(), 0, Placement::shard(0)});
    seeds.push_back({t.variables.back().ref.endpoint(), 0, Placement::shard(0)});
  }
  t.train = {group(t.graph, updates, "train_slots").node()};
  for (const int devices : {2, 3, 8}) {
    const TrialResult result =
        run_trial(t, {.axis = {.name = "data", .size = devices}, .batches = kBatches, .seeds = seeds});
    EXPECT_EQ(result.wrong, "") << devices << " devices";
    EXPECT_GE(result.collectives.at("reduce-scatter"), 4) << devices << " devices";
  }
}

}  // namespace
}  // namespace argosy
