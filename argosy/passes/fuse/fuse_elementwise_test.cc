#include "argosy/passes/fuse/fuse_elementwise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>

#include "argosy/device/device.h"
#include "argosy/graph/gradients.h"
#include "argosy/ops/collective/turns.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/fused/fused.h"
#include "argosy/ops/evaluate.h"
#include "argosy/ops/ops.h"
#include "argosy/passes/optimize.h"
#include "argosy/testing/expect_rewrite.h"

namespace argosy {
namespace {

std::map<std::string, int> ops_of(const Graph& g) {
  std::map<std::string, int> ops;
  for (const Node& n : g.nodes()) ++ops[n.op->name];
  return ops;
}

StepGraph step_of(const Graph& g, const std::vector<Value>& fetches) {
  StepSignature signature;
  for (const Value& v : fetches) signature.fetches.push_back(v.endpoint());
  auto step = prune_step(g, signature);
  EXPECT_TRUE(step.ok()) << step.status().to_string();
  return *std::move(step);
}

StepGraph fused(const StepGraph& step) {
  StepGraph copy{step.graph.clone(), step.feeds, step.fetches, step.targets};
  const auto changed = fuse_elementwise(copy);
  EXPECT_TRUE(changed.ok()) << changed.status().to_string();
  const Status dropped = remove_unused_nodes(copy);
  EXPECT_TRUE(dropped.ok()) << dropped.to_string();
  return copy;
}

// By each op's own kernel.
std::vector<Tensor> run(const StepGraph& step, const std::map<std::string, Tensor>& feeds) {
  std::unordered_map<Endpoint, Tensor> values;
  for (const auto& [name, value] : feeds) {
    if (const auto id = step.graph.find(name)) values[{*id, 0}] = value;
  }
  auto outputs = evaluate(step.graph, values, step.fetches);
  EXPECT_TRUE(outputs.ok()) << outputs.status().to_string();
  return outputs.ok() ? *std::move(outputs) : std::vector<Tensor>();
}

void expect_bitwise_equal(const StepGraph& plain, const StepGraph& fused, const std::map<std::string, Tensor>& feeds) {
  const auto want = run(plain, feeds), got = run(fused, feeds);
  ASSERT_EQ(want.size(), got.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(want[i].dtype(), got[i].dtype());
    ASSERT_EQ(want[i].shape(), got[i].shape());
    EXPECT_EQ(std::memcmp(want[i].raw(), got[i].raw(), want[i].bytes()), 0) << "output " << i;
  }
}

Tensor numbers(DType dtype, const Shape& shape, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-3, 3);
  Tensor t = Tensor::zeros(dtype, shape);
  for (std::int64_t i = 0; i < t.elements(); ++i) {
    double x = uniform(random);
    if (random() % 97 == 0) x = std::array{0.0, -0.0, 1e30, -200.0, HUGE_VAL, std::nan("")}[random() % 6];
    switch (dtype) {
      case DType::kFloat32: t.data<float>()[i] = static_cast<float>(x); break;
      case DType::kFloat64: t.data<double>()[i] = x; break;
      case DType::kBfloat16: t.data<bfloat16>()[i] = bfloat16(static_cast<float>(x)); break;
      case DType::kFloat16: t.data<float16>()[i] = float16(static_cast<float>(x)); break;
      case DType::kBool: t.data<bool>()[i] = x > 0; break;
      default: ADD_FAILURE(); break;
    }
  }
  return t;
}

Value fed(Graph& g, DType dtype, const PartialShape& shape, const std::string& name) {
  return g.add("Placeholder", {}, {{"dtype", dtype}, {"shape", shape}}, name);
}

const DType kFloating[] = {DType::kFloat32, DType::kFloat64, DType::kBfloat16, DType::kFloat16};

//  x ─► Mul(scalar) ─► BiasAdd(b) ─► Tanh ─► Sub(x) ─► y     ──►     x, scalar, b ─► _FusedElementwise ─► y
TEST(FuseElementwise, ChainsOfEveryDtypeKeepTheirBits) {
  for (const DType dtype : kFloating) {
    for (const Shape& shape : {Shape{37, 20}, Shape{3, 5, 7, 64}, Shape{1, 1}, Shape{70000, 3}, Shape{3, 4096}}) {
      Graph g;
      const std::int64_t channels = shape.back();
      const Value x = fed(g, dtype, shape, "x"), s = fed(g, dtype, PartialShape::scalar(), "s"),
                  b = fed(g, dtype, {channels}, "b");
      const Value y = g.add("Sub", {g.add("Tanh", {g.add("BiasAdd", {g.add("Mul", {s, x}), b})}), x});
      const StepGraph plain = step_of(g, {y}), one = fused(plain);
      EXPECT_THAT(ops_of(one.graph), testing::Contains(testing::Pair("_FusedElementwise", 1)));
      EXPECT_EQ(one.graph.size(), 4);
      expect_bitwise_equal(
          plain, one,
          {{"x", numbers(dtype, shape, 1)}, {"s", numbers(dtype, {}, 2)}, {"b", numbers(dtype, {channels}, 3)}});
    }
  }
}

// What gradients of branches end with: the sum of two, then whatever undoes the activation.
TEST(FuseElementwise, SumsOfTwo) {
  Graph g;
  const Value x = fed(g, DType::kFloat32, {1000}, "x"), z = fed(g, DType::kFloat32, {1000}, "z");
  const Value sum = g.add("AddN", {x, z}), three = g.add("AddN", {x, z, z});
  const Value y = g.add("ReluGrad", {sum, z}), other = g.add("Neg", {three});
  const StepGraph plain = step_of(g, {y, other}), one = fused(plain);
  EXPECT_THAT(ops_of(one.graph), testing::Contains(testing::Pair("_FusedElementwise", 1)));
  EXPECT_THAT(ops_of(one.graph), testing::Contains(testing::Pair("AddN", 1)));
  expect_bitwise_equal(plain, one,
                       {{"x", numbers(DType::kFloat32, {1000}, 1)}, {"z", numbers(DType::kFloat32, {1000}, 2)}});
}

// Every op that may be fused, followed by another one, against its own kernel.
TEST(FuseElementwise, EveryOpKeepsItsBits) {
  int tested = 0;
  for (const auto& op : builtin_ops().all()) {
    if (!op->elementwise) continue;
    const int arity = static_cast<int>(op->input_args.size());
    for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kBfloat16, DType::kFloat16, DType::kBool}) {
      const AttrDef* type = op->attr("T");
      if (type != nullptr && !type->types.empty() &&
          std::find(type->types.begin(), type->types.end(), dtype) == type->types.end()) {
        continue;
      }
      if (type == nullptr && op->name != "LogicalNot" && op->name != "LogicalAnd" && op->name != "LogicalOr") continue;
      std::vector<DType> dtypes(static_cast<std::size_t>(arity), dtype);
      if (op->name.starts_with("Select")) dtypes[0] = DType::kBool;
      Graph g;
      std::vector<Value> inputs;
      std::map<std::string, Tensor> feeds;
      for (int i = 0; i < arity; ++i) {
        inputs.push_back(fed(g, dtypes[i], {1000}, str_cat("x", i)));
        feeds[str_cat("x", i)] = numbers(dtypes[i], {1000}, 10 + i);
      }
      const Value y = g.add(op->name, inputs);
      if (!g.status().ok() || !y.valid() || !fused_function(op->name, dtypes, y.dtype())) continue;
      const Value z = y.dtype() == DType::kBool ? g.add("LogicalNot", {y}) : g.add("Neg", {y});
      const StepGraph plain = step_of(g, {y, z}), one = fused(plain);
      SCOPED_TRACE(str_cat(op->name, " of ", dtype_name(dtype)));
      EXPECT_THAT(ops_of(one.graph), testing::Contains(testing::Pair("_FusedElementwise", 1)));
      expect_bitwise_equal(plain, one, feeds);
      ++tested;
    }
  }
  EXPECT_GT(tested, 150);
}

// A number that is repeated to a computed size: who makes the size may have an effect that the step needs.
TEST(FuseElementwise, ARepeatedNumberIsReadInItsPlaceWhereTheSizeIsConstant) {
  for (const bool computed : {true, false}) {
    Graph g(builtin_ops());
    const Value four = constant(g, Tensor::vector<std::int32_t>({4}));
    const Value drawn = g.add("RandomUniform", {four}, {{"dtype", DType::kFloat32}});
    const Value size = computed ? g.add("Shape", {drawn}) : four;
    const Value twos = g.add("Fill", {size, constant(g, Tensor::scalar(2.0f))});
    const Value x = placeholder(g, DType::kFloat32, {4}, "x");
    const Value y = g.add("AddV2", {g.add("Mul", {twos, x}), x});
    ASSERT_TRUE(g.status().ok()) << g.status().to_string();
    EXPECT_EQ(ops_of(fused(step_of(g, {y})).graph).count("Fill"), computed ? 1U : 0U);
  }
}

// Random DAGs of several shapes, broadcasts, casts and comparisons; anything may be fetched.
TEST(FuseElementwise, RandomGraphsKeepTheirBits) {
  int nodes_fused = 0;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const auto any = [&](auto& list) { return list[random() % list.size()]; };
    Graph g;
    std::map<std::string, Tensor> feeds;
    std::vector<Value> floats, bools;
    const std::vector<Shape> shapes = {{6, 50}, {50}, {6, 1}, {}, {1, 50}, {6, 50}, {4, 6, 50}};
    const std::vector<DType> types = {DType::kFloat32, DType::kFloat32, DType::kBfloat16, DType::kFloat64};
    const DType main = any(types);
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const std::string name = str_cat("x", i);
      floats.push_back(fed(g, main, shapes[i], name));
      feeds[name] = numbers(main, shapes[i], seed * 31 + static_cast<std::uint32_t>(i));
    }
    bools.push_back(g.add("Less", {floats[0], floats[1]}));
    for (int i = 0; i < 25; ++i) {
      const Value a = any(floats), b = any(floats);
      switch (random() % 8) {
        case 0: floats.push_back(g.add(std::array{"Neg", "Exp", "Sqrt", "Square", "Relu"}[random() % 5], {a})); break;
        case 1: bools.push_back(g.add("GreaterEqual", {a, b})); break;
        case 2: bools.push_back(g.add("LogicalAnd", {any(bools), any(bools)})); break;
        case 3: floats.push_back(g.add("SelectV2", {any(bools), a, b})); break;
        case 4: {
          const Value other = g.add("Cast", {a}, {{"DstT", DType::kFloat16}});
          floats.push_back(g.add("Cast", {g.add("Abs", {other})}, {{"DstT", main}}));
          break;
        }
        case 5: floats.push_back(g.add("ReluGrad", {a, g.add("Tanh", {a})})); break;
        default: floats.push_back(g.add(std::array{"AddV2", "Mul", "Sub", "Maximum"}[random() % 4], {a, b})); break;
      }
    }
    ASSERT_TRUE(g.status().ok()) << g.status().to_string();
    std::vector<Value> fetches = {floats.back(), any(floats), any(floats), any(bools)};
    const StepGraph plain = step_of(g, fetches), less = fused(plain);
    nodes_fused += plain.graph.size() - less.graph.size();
    SCOPED_TRACE(str_cat("seed ", seed));
    expect_bitwise_equal(plain, less, feeds);
    if (HasFailure()) return;
  }
  EXPECT_GT(nodes_fused, 200);
}

//  x ─► Neg ─► a ─► MatMul ─► b        a and the sum may not become one: the product stands between them
//              └────► Add(b) ─► y
TEST(FuseElementwise, ClosesNoCycle) {
  Graph g;
  const Value x = fed(g, DType::kFloat32, {4, 4}, "x");
  const Value a = g.add("Neg", {x});
  const Value y = g.add("AddV2", {g.add("MatMul", {a, a}), a});
  StepGraph step = step_of(g, {y});
  EXPECT_EQ(*fuse_elementwise(step), 0);
}

//  two groups, each of which would be needed by the other were they cut carelessly
TEST(FuseElementwise, ClosesNoCycleAmongGroups) {
  Graph g;
  const Value x = fed(g, DType::kFloat32, {4, 4}, "x"), v = fed(g, DType::kFloat32, {4}, "v");
  const Value a = g.add("Neg", {x}), p = g.add("Neg", {v});
  const auto row = [&](Value m) {
    return g.add("Sum",
                 {m, g.add("Const", {}, {{"value", Tensor::vector<std::int32_t>({0})}, {"dtype", DType::kInt32}})});
  };
  const Value q = g.add("Exp", {g.add("AddV2", {p, row(a)})});
  const Value b = g.add("Exp", {g.add("AddV2", {a, q})});
  const Value y = g.add("Mul", {q, row(b)});
  const StepGraph plain = step_of(g, {y, b}), less = fused(plain);
  ASSERT_TRUE(less.graph.topological_order().ok());
  expect_bitwise_equal(plain, less,
                       {{"x", numbers(DType::kFloat32, {4, 4}, 1)}, {"v", numbers(DType::kFloat32, {4}, 2)}});
}

TEST(FuseElementwise, FetchedValuesStay) {
  Graph g;
  const Value x = fed(g, DType::kFloat32, {8}, "x");
  const Value a = g.add("Neg", {x}), b = g.add("Exp", {a}), c = g.add("Sqrt", {b});
  const StepGraph plain = step_of(g, {a, c}), one = fused(plain);
  EXPECT_EQ(one.fetches[0].node, one.fetches[1].node);
  expect_bitwise_equal(plain, one, {{"x", numbers(DType::kFloat32, {8}, 1)}});
}

TEST(FuseElementwise, OtherDevicesShapesAndControlEdgesStayApart) {
  Graph g;
  const Value x = fed(g, DType::kFloat32, {8}, "x"), unknown = fed(g, DType::kFloat32, {-1}, "u");
  const Value a = g.add("Neg", {x});
  Value b, c;
  {
    const auto on = g.device("/gpu:0");
    b = g.add("Exp", {a});
  }
  {
    const auto after = g.control_dependencies({b});
    c = g.add("Sqrt", {a});
  }
  const Value d = g.add("Exp", {g.add("Neg", {unknown})});
  StepGraph step = step_of(g, {b, c, d});
  EXPECT_EQ(*fuse_elementwise(step), 0);
}

//  x ─► Neg ─► Exp ─► a ─► MatMul ─► Neg ─► Add(a) ─► y: two groups, one of which reads of the other
TEST(FuseElementwise, NothingIsComputedTwice) {
  Graph g;
  const Value x = fed(g, DType::kFloat32, {4, 4}, "x");
  const Value a = g.add("Exp", {g.add("Neg", {x})});
  const Value y = g.add("AddV2", {g.add("Neg", {g.add("MatMul", {a, a})}), a});
  const StepGraph plain = step_of(g, {y}), less = fused(plain);
  EXPECT_THAT(ops_of(less.graph),
              testing::UnorderedElementsAre(testing::Pair("Placeholder", 1), testing::Pair("MatMul", 1),
                                            testing::Pair("_FusedElementwise", 2)));
  expect_bitwise_equal(plain, less, {{"x", numbers(DType::kFloat32, {4, 4}, 1)}});
}

// The planner may lay an output over an input that a later step still reads.
TEST(FuseElementwise, AnOutputOverAnInputStillRead) {
  FusedProgram program{.steps = {{"Neg", {0, -1, -1}, DType::kFloat32}, {"AddV2", {1, 0, -1}, DType::kFloat32}},
                       .results = {0, 1},
                       .shape = Shape{5000},
                       .inputs = {Shape{5000}}};
  AttrMap attrs{{"Tin", std::vector<DType>{DType::kFloat32}}, {"Tout", std::vector<DType>(2, DType::kFloat32)}};
  program.write(attrs);
  const OpDef& op = *builtin_ops().find("_FusedElementwise");
  const DType in[] = {DType::kFloat32}, out[] = {DType::kFloat32, DType::kFloat32};
  // A task that was given its part of a step may know less of the inputs' shapes.
  const PartialShape in_shapes[] = {PartialShape::unknown_of_rank(1)}, out_shapes[] = {Shape{5000}, Shape{5000}};
  auto kernel = cpu_kernels().make({.op = op,
                                    .attrs = attrs,
                                    .node = "fused",
                                    .input_dtypes = in,
                                    .output_dtypes = out,
                                    .input_shapes = in_shapes,
                                    .output_shapes = out_shapes,
                                    .constants = {}},
                                   "cpu");
  ASSERT_TRUE(kernel.ok()) << kernel.status().to_string();
  Tensor x = Tensor::zeros(DType::kFloat32, {5000}), sum = Tensor::zeros(DType::kFloat32, {5000});
  for (int i = 0; i < 5000; ++i) x.data<float>()[i] = static_cast<float>(i);
  Tensor over = x;
  const Tensor* const inputs[] = {&x};
  OutputSlot slots[] = {{&over, true}, {&sum, true}};
  KernelContext context(
      {.inputs = inputs, .num_inputs = 1, .outputs = slots, .num_outputs = 2, .output_dtypes = out, .node = "fused"});
  ASSERT_TRUE((*kernel)->run(context).ok());
  for (int i = 0; i < 5000; ++i) {
    ASSERT_EQ(over.data<float>()[i], -static_cast<float>(i));
    ASSERT_EQ(sum.data<float>()[i], 0);
  }
}

TEST(FuseElementwise, MayBeSwitchedOffAndSaysWhatItDid) {
  Graph g;
  const Value x = fed(g, DType::kFloat32, {8}, "x");
  const Value y = g.add("Exp", {g.add("Neg", {x})});
  const auto on = prepare_step(step_of(g, {y}), {});
  ASSERT_TRUE(on.ok());
  EXPECT_THAT(on->notes,
              testing::ElementsAre("fuse_elementwise: 2 elementwise nodes fused", "all passes: 3 nodes now 2"));
  const auto off = prepare_step(step_of(g, {y}), {.without = "fuse_elementwise"});
  ASSERT_TRUE(off.ok());
  EXPECT_EQ(off->graph.size(), 3);
  EXPECT_THAT(off->notes, testing::ElementsAre("fuse_elementwise: off"));
  EXPECT_EQ(prepare_step(step_of(g, {y}), {.without = "fuse"}).status().id(), "ARG-PASS-001");
}

TEST(FuseElementwise, AChainBecomesOneNode) {
  expect_rewrite(fuse_elementwise, R"(
    x = Placeholder [dtype=float, shape=shape[4]]
    a = Placeholder [dtype=float, shape=shape[4]]
    m = Mul(x, a)
    y = Tanh(m)
    -> y)",
                 R"(
    x = Placeholder [dtype=float, shape=shape[4]]
    a = Placeholder [dtype=float, shape=shape[4]]
    y = _FusedElementwise(x, a) [Tin=[float, float], Tout=[float], dtypes=[float, float], input_shapes=[shape[4], shape[4]], ops=["Mul", "Tanh"], operands=[0, 1, -1, 2, -1, -1], results=[1], shape=shape[4]]
    -> y)");
}

TEST(FuseElementwise, UnknownShapesAreLeftAlone) {
  expect_left_alone(fuse_elementwise, R"(
    x = Placeholder [dtype=float, shape=shape[?]]
    a = Placeholder [dtype=float, shape=shape[?]]
    m = Mul(x, a)
    y = Tanh(m)
    -> y)");
}

// What is put into the queue must not wait for what is taken out: it may be the same.
TEST(FuseElementwise, WhatAQueueWaitsForIsLeftAlone) {
  const auto step = [](const char* put) {
    return str_cat(R"(
    q = FIFOQueueV2 [component_types=[float], shapes=[shape[3]]]
    x = Placeholder [dtype=float, shape=shape[3]]
    a = Tanh(x)
    put = QueueEnqueueV2(q, )",
                   put, R"() [Tcomponents=[float]]
    got = QueueDequeueV2(q) [component_types=[float]]
    b = Mul(a, got)
    -> b, a, ^put)");
  };
  expect_left_alone(fuse_elementwise, step("a"));
  StepGraph other = parse_step(step("x"));
  EXPECT_EQ(*fuse_elementwise(other), 2);
}

// One that blocks waits for other steps alone.
TEST(FuseElementwise, WhatIsTakenFromAQueueIsFused) {
  StepGraph step = parse_step(R"(
    q = FIFOQueueV2 [component_types=[float], shapes=[shape[3]]]
    got = QueueDequeueV2(q) [component_types=[float]]
    a = Tanh(got)
    b = Mul(a, got)
    -> b, a)");
  EXPECT_EQ(*fuse_elementwise(step), 2);
}

// A node of two turns would keep the inputs of the earlier one until the later one is there.
TEST(FuseElementwise, TurnsStayApart) {
  Graph g;
  std::vector<Value> terms;
  for (const std::int64_t turn : {0, 1}) {
    const Value x =
        g.add("Placeholder", {}, {{"dtype", DType::kFloat32}, {"shape", PartialShape({64})}}, str_cat("x", turn));
    const Value inner = g.add("Tanh", {x}, {{kTurnAttr, turn}});
    terms.push_back(g.add("Square", {inner}, {{kTurnAttr, turn}}));
  }
  const Value sum = g.add("AddV2", {terms[0], terms[1]}, {{kTurnSumAttr, std::int64_t{1}}});
  const StepGraph step = step_of(g, {g.add("Neg", {sum})});
  const StepGraph after = fused(step);
  const auto ops = ops_of(after.graph);
  EXPECT_EQ(ops.at("_FusedElementwise"), 2) << "one of each turn";
  EXPECT_EQ(ops.count("AddV2"), 1u);
  for (const Node& n : after.graph.nodes()) {
    if (n.op->name != "_FusedElementwise") continue;
    EXPECT_GE(Turn::of(n.attrs).number, 0) << "it is still of its turn";
  }
  expect_bitwise_equal(step, after,
                       {{"x0", numbers(DType::kFloat32, {64}, 1)}, {"x1", numbers(DType::kFloat32, {64}, 2)}});
}

}  // namespace
}  // namespace argosy
