// The small parts of the training library: schedules, clipping, metrics, layers, the breakdown of time.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "argosy/graph/gradients.h"
#include "argosy/ops/cast/cast.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/evaluate.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/runtime/session/session.h"
#include "argosy/testing/op_cases/op_case.h"
#include "argosy/train/model/clipping.h"
#include "argosy/train/model/layers.h"
#include "argosy/train/model/losses.h"
#include "argosy/train/model/metrics.h"
#include "argosy/train/model/optimizers.h"
#include "argosy/train/model/schedules.h"
#include "argosy/train/report/verdict.h"

namespace argosy {
namespace {

Tensor value_of(Value v) {
  const auto got = evaluate(v.graph(), {}, {v.endpoint()});
  EXPECT_TRUE(got.ok()) << got.status().to_string();
  return got.ok() ? (*got)[0] : Tensor::zeros(v.dtype(), {});
}

TEST(LearningRate, SaysInTheGraphWhatItSaysToPeople) {
  const LearningRate rates[] = {
      0.1,
      LearningRate::exponential(0.1, 100, 0.5),
      LearningRate::exponential(0.1, 100, 0.5, true),
      LearningRate::cosine(0.1, 200, 0.01),
      LearningRate::piecewise({50, 150}, {0.1, 0.01, 0.001}),
      LearningRate::warm_up(20, LearningRate::cosine(0.1, 200)),
  };
  for (const LearningRate& rate : rates) {
    for (const std::int64_t step : {0, 1, 19, 20, 50, 51, 99, 100, 150, 199, 200, 1000}) {
      Graph g;
      const Value built = rate.build(constant(g, step));
      ASSERT_TRUE(built.valid()) << g.status().to_string();
      EXPECT_NEAR(*value_of(built).data<float>(), rate.at(step), 1e-6) << "step " << step;
    }
  }
  EXPECT_DOUBLE_EQ(rates[4].at(50), 0.1);
  EXPECT_DOUBLE_EQ(rates[4].at(51), 0.01);
  EXPECT_LT(rates[5].at(0), 0.006);
}

TEST(Clipping, ByNormAndByGlobalNorm) {
  Graph g;
  const Value a = constant(g, Tensor::vector<float>({3, 4})), b = constant(g, Tensor::vector<float>({12}));
  EXPECT_EQ(difference(value_of(clip_by_norm(a, 1)), Tensor::vector<float>({.6f, .8f}), 1e-6), "");
  EXPECT_EQ(difference(value_of(clip_by_norm(a, 10)), Tensor::vector<float>({3, 4}), 1e-6), "");
  Value norm;
  const auto clipped = clip_by_global_norm({a, Value(), b}, 6.5, &norm);
  EXPECT_FLOAT_EQ(*value_of(norm).data<float>(), 13);
  EXPECT_EQ(difference(value_of(clipped[0]), Tensor::vector<float>({1.5f, 2}), 1e-6), "");
  EXPECT_FALSE(clipped[1].valid());
  EXPECT_EQ(difference(value_of(clipped[2]), Tensor::vector<float>({6}), 1e-6), "");
  const Value zero = constant(g, Tensor::vector<float>({0, 0}));
  EXPECT_EQ(difference(value_of(clip_by_norm(zero, 1)), Tensor::vector<float>({0, 0}), 0), "");
  const Value broken = constant(g, Tensor::vector<float>({INFINITY, 1}));
  EXPECT_TRUE(std::isnan(value_of(clip_by_global_norm({broken}, 1)[0]).data<float>()[1]));
}

TEST(Metrics, AddUpInAnySplit) {
  MetricState all, left, right;
  for (int i = 0; i < 10; ++i) {
    all.add(i % 3, 1);
    (i < 4 ? left : right).add(i % 3, 1);
  }
  left.merge(right);
  EXPECT_EQ(left.value(), all.value());
  EXPECT_EQ(MetricState().value(), 0);
  Graph g;
  const Value logits = constant(g, Tensor::of<float>({3, 2}, {1, 2, 5, 0, 0, 1}));
  const Metric hits = accuracy(logits, constant(g, Tensor::vector<std::int32_t>({1, 1, 1})));
  EXPECT_EQ(*value_of(hits.total).data<float>(), 2);
  EXPECT_EQ(*value_of(hits.weight).data<float>(), 3);
}

TEST(Layers, NamesAreTensorFlowsAndEqualModelsStartEqual) {
  Graph g, again;
  Layers net(g, {.seed = 7}), same(again, {.seed = 7});
  for (Layers* layers : {&net, &same}) {
    const Value x = layers->input("x", DType::kFloat32, {8, 8, 3});
    const Value y = layers->conv2d_transpose(layers->batch_norm(layers->conv2d(x, 4)), 2, {.strides = {2, 2}});
    EXPECT_EQ(y.shape().to_string(), "[?,16,16,2]") << layers->graph().status().to_string();
    layers->dense(flatten(y), 5);
    layers->dense(flatten(y), 5);
  }
  std::vector<std::string> names;
  for (const VariableNode& v : net.variables()) names.push_back(v.ref.node_name());
  const std::vector<std::string> expected = {"conv2d/kernel",
                                             "conv2d/bias",
                                             "batch_normalization/gamma",
                                             "batch_normalization/beta",
                                             "batch_normalization/moving_mean",
                                             "batch_normalization/moving_variance",
                                             "conv2d_transpose/kernel",
                                             "conv2d_transpose/bias",
                                             "dense/kernel",
                                             "dense/bias",
                                             "dense_1/kernel",
                                             "dense_1/bias"};
  EXPECT_EQ(names, expected);
  EXPECT_EQ(net.trainable().size(), 10u);
  EXPECT_EQ(net.updates().size(), 2u);
  const auto first_value = [](Graph& graph, const VariableNode& v) {
    return value_of(graph.value(graph.node(v.initializer.node()).inputs[1]));
  };
  const Tensor kernel = first_value(g, net.variables()[8]);
  EXPECT_EQ(difference(kernel, first_value(again, same.variables()[8]), 0), "");
  EXPECT_NE(difference(kernel, first_value(g, net.variables()[10]), 0), "");
}

// In float64 batch norm is composed, in float32 one op: the same values, the same gradients.
TEST(Layers, BatchNormIsTheSameInEveryPrecision) {
  for (const bool training : {true, false}) {
    std::vector<std::vector<Tensor>> found;
    for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
      Graph g;
      Layers net(g, {.training = training, .dtype = dtype});
      const Value x = cast(constant(g, random_tensor(DType::kFloat32, {5, 2, 3, 4}, 1)), dtype);
      const Value y = net.batch_norm(x);
      const auto slopes = gradients(g, {reduce_sum(y * square(y))}, {x, net.variables()[0].read});
      ASSERT_TRUE(g.status().ok()) << Status(g.status()).to_string();
      Session session(g);
      std::vector<Value> initializers, values = {cast(y, DType::kFloat64)};
      for (const VariableNode& v : net.variables()) initializers.push_back(v.initializer);
      for (const Value& v : slopes) values.push_back(cast(v, DType::kFloat64));
      ASSERT_TRUE(session.run_targets(initializers).ok());
      auto got = session.run(values);
      ASSERT_TRUE(got.ok()) << got.status().to_string();
      found.push_back(*std::move(got));
    }
    for (std::size_t i = 0; i < found[0].size(); ++i) {
      EXPECT_EQ(difference(found[0][i], found[1][i], 1e-5), "") << "training " << training << ", value " << i;
    }
  }
}

TEST(Layers, DropoutKeepsTheMeanAndDrawsTheSameForTheSameStep) {
  const auto dropped = [](std::int64_t step, bool training) {
    Graph g;
    Layers net(g, {.seed = 1, .training = training, .step = constant(g, step)});
    return value_of(net.dropout(constant(g, Tensor::vector(std::vector<float>(4000, 1.0f))), 0.25));
  };
  const Tensor a = dropped(3, true);
  double sum = 0;
  for (const float x : a.values<float>()) sum += x;
  EXPECT_NEAR(sum / 4000, 1, 0.05);
  EXPECT_EQ(difference(a, dropped(3, true), 0), "");
  EXPECT_NE(difference(a, dropped(4, true), 0), "");
  EXPECT_EQ(dropped(3, false).data<float>()[0], 1);
}

TEST(Layers, MisuseSticksToTheGraph) {
  Graph g;
  Layers net(g);
  const Value x = net.input("x", DType::kFloat32, {-1, 4});
  EXPECT_FALSE(flatten(x).valid());
  EXPECT_NE(g.status().message().find("[?,?,4]"), std::string::npos) << g.status().message();
}

TEST(Optimizers, ByNameWithASuggestion) {
  EXPECT_TRUE(optimizer_by_name("adam", 0.1).ok());
  const Status unknown = optimizer_by_name("adan", 0.1).status();
  EXPECT_EQ(unknown.hint(), "--optimizer adam");
}

TEST(Optimizers, UpdateVariablesOfBothKindsAlike) {
  const Tensor start = Tensor::of<float>({1, 3}, {0.5f, -0.3f, 2});
  for (const char* name : {"sgd", "momentum", "nesterov", "adagrad", "adadelta", "rmsprop", "adam", "adamw", "ftrl"}) {
    std::vector<Tensor> found;
    for (const VariableKind kind : {VariableKind::kReference, VariableKind::kResource}) {
      Graph g;
      const VariableNode w = variable(g, start, "w", {.kind = kind});
      const TrainStep step = optimizer_by_name(name, 0.1)->minimize(reduce_sum(square(w.read - 1)), {w});
      ASSERT_TRUE(g.status().ok()) << name << ": " << g.status().to_string();
      std::vector<Value> initializers = {w.initializer};
      for (const VariableNode& slot : step.slots) initializers.push_back(slot.initializer);
      Session session(g);
      ASSERT_TRUE(session.run_targets(initializers).ok());
      for (int i = 0; i < 3; ++i) {
        const Status run = session.run_targets({step.run});
        ASSERT_TRUE(run.ok()) << name << ": " << run.to_string();
      }
      const auto got = session.run({w.read});
      ASSERT_TRUE(got.ok()) << name << ": " << got.status().to_string();
      found.push_back((*got)[0]);
    }
    EXPECT_EQ(difference(found[0], found[1], 0), "") << name;
    EXPECT_NE(difference(found[0], start, 0), "") << name;
  }
}

TEST(Optimizers, SayWhichVariableTheLossDoesNotUse) {
  Graph g;
  const VariableNode w = variable(g, Tensor::scalar(1.0f), "w"), unused = variable(g, Tensor::scalar(1.0f), "unused");
  sgd(0.1).minimize(square(w.read), {w, unused});
  EXPECT_EQ(g.status().id(), "ARG-GRAD-001");
  EXPECT_NE(g.status().message().find("'unused:0'"), std::string::npos) << g.status().message();
  EXPECT_EQ(g.status().hint().find("allow_unconnected"), std::string::npos) << g.status().hint();
}

TEST(Losses, DoNotBroadcast) {
  const std::pair<const char*, std::function<Value(Value, Value)>> losses[] = {
      {"softmax_cross_entropy", softmax_cross_entropy},
      {"sigmoid_cross_entropy", sigmoid_cross_entropy},
      {"mean_squared_error", mean_squared_error},
      {"mean_absolute_error", mean_absolute_error},
      {"huber_loss", [](Value p, Value t) { return huber_loss(p, t); }},
      {"summed_squared_error", summed_squared_error},
      {"squared_errors", squared_errors},
  };
  for (const auto& [name, loss] : losses) {
    for (const PartialShape& shape : {PartialShape{-1}, PartialShape{-1, 3}, PartialShape{-1, 2, 1}}) {
      Graph g;
      const Value x = placeholder(g, DType::kFloat32, {-1, 2}, "x"), y = placeholder(g, DType::kFloat32, shape, "y");
      EXPECT_FALSE(loss(x, y).valid()) << name << shape.to_string();
      EXPECT_EQ(g.status().code(), Code::kInvalidArgument);
      for (const std::string& part : {std::string(name), std::string("[?,2]"), shape.to_string()}) {
        EXPECT_NE(g.status().message().find(part), std::string::npos) << g.status().message();
      }
      EXPECT_NE(g.status().hint().find("reshape()"), std::string::npos);
    }
    Graph g;
    const Value x = placeholder(g, DType::kFloat32, {-1, 2}, "x");
    EXPECT_TRUE(loss(x, placeholder(g, DType::kFloat32, {5, -1}, "y")).valid()) << name << g.status().to_string();
    EXPECT_TRUE(loss(x, placeholder(g, DType::kFloat32, PartialShape::unknown(), "z")).valid()) << name;
  }
}

TEST(Metrics, AccuracyTakesOneClassNumberPerRow) {
  for (const PartialShape& shape : {PartialShape{-1, 1}, PartialShape{-1, 3}, PartialShape::scalar()}) {
    Graph g;
    const Value logits = placeholder(g, DType::kFloat32, {-1, 3}, "logits");
    const Value labels = placeholder(g, DType::kInt32, shape, "labels");
    EXPECT_FALSE(accuracy(logits, labels).total.valid()) << shape.to_string();
    EXPECT_EQ(g.status().code(), Code::kInvalidArgument);
    EXPECT_NE(g.status().message().find(str_cat("'labels:0' have shape ", shape)), std::string::npos)
        << g.status().message();
  }
  Graph g;
  const Value logits = placeholder(g, DType::kFloat32, {-1, 3});
  EXPECT_TRUE(accuracy(logits, placeholder(g, DType::kInt32, {-1})).total.valid()) << g.status().to_string();
  EXPECT_TRUE(top_k_accuracy(logits, placeholder(g, DType::kInt32, {-1}), 2).total.valid());
}

TEST(TimeBreakdownMeter, CountsTheDevicesThatCompute) {
  const DeviceName gpu = *DeviceName::parse("/device:GPU:0"), cpu = *DeviceName::parse("/device:CPU:0");
  TimeBreakdownMeter meter({gpu});
  StepStats stats{.start_nanos = 0, .end_nanos = 1000};
  stats.devices = {{.device = cpu, .compute_nanos = 5}, {.device = gpu, .compute_nanos = 600, .collective_nanos = 100}};
  meter.add(stats, 1000e-9);
  const TimeBreakdown breakdown = meter.breakdown();
  EXPECT_NEAR(breakdown.compute, 0.3, 1e-9);
  EXPECT_NEAR(breakdown.all_reduce, 0.05, 1e-9);
  EXPECT_NEAR(breakdown.input, 0.5, 1e-9);
  EXPECT_NEAR(breakdown.overhead, 0.15, 1e-9);
}

}  // namespace
}  // namespace argosy
