#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/ops.h"
#include "argosy/ops/state/state.h"
#include "argosy/passes/optimize.h"
#include "argosy/passes/place/place.h"

namespace argosy {
namespace {

std::vector<std::string> ops_of(const Graph& g) {
  std::vector<std::string> ops;
  for (const Node& n : g.nodes()) ops.push_back(n.op->name);
  return ops;
}

DeviceSpec device(const char* name) { return {.name = DeviceName::parse(name).value()}; }

std::vector<DeviceSpec> one_cpu_two_gpus() {
  return {device("/job:localhost/replica:0/task:0/device:CPU:0"),
          device("/job:localhost/replica:0/task:0/device:GPU:0"),
          device("/job:localhost/replica:0/task:0/device:GPU:1")};
}

TEST(Prune, CutsAtFeedsAndKeepsControlEdges) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 2}, "x");
  const Value side = g.add("NoOp", {}, {}, "side");
  const Value a = identity(x, "a");
  const Value b = with_dependencies({side}, a, "b");
  identity(x, "unused");
  const auto step = prune_step(g, {.feeds = {a.endpoint()}, .feed_shapes = {Shape{3, 2}}, .fetches = {b.endpoint()}});
  ASSERT_TRUE(step.ok()) << step.status().to_string();
  EXPECT_THAT(ops_of(step->graph), testing::UnorderedElementsAre("_Arg", "NoOp", "Identity"));
  EXPECT_EQ(step->graph.shape(step->fetches[0]).to_string(), "[3,2]");
}

// As in TensorFlow: whoever reads the value gets what is fed, whoever waits for the node waits for the effects before it.
TEST(Prune, WhatIsFedRunsForWhoWaitsForIt) {
  Graph g;
  const VariableNode v = variable(g, Tensor::scalar(1.0f), "v");
  const Value one = constant(g, 1.0f), effect = assign_add(v, one);
  const Value x = with_dependencies({effect.control()}, one, "x"), p = placeholder(g, DType::kFloat32, {}, "p");
  const Value y = with_dependencies({x.control(), p.control()}, one, "y"), z = identity(x, "z");
  const auto ops_behind = [&](const Value& fetched) {
    const auto step = prune_step(
        g, {.feeds = {x.endpoint(), p.endpoint()}, .feed_shapes = {Shape{}, Shape{}}, .fetches = {fetched.endpoint()}});
    EXPECT_TRUE(step.ok()) << step.status().to_string();
    return ops_of(step->graph);
  };
  EXPECT_THAT(ops_behind(y), testing::Contains("AssignAdd"));
  EXPECT_THAT(ops_behind(y), testing::Not(testing::Contains("Placeholder")));
  EXPECT_THAT(ops_behind(z), testing::Not(testing::Contains("AssignAdd")));
}

// A node without inputs is no placeholder. One whose values are fed because it ran before has had its effects.
TEST(Prune, WhoWaitsForAFedNodeWaitsForItsEffectsUnlessItRan) {
  Graph g;
  const VariableNode v = variable(g, Tensor::scalar(1.0f), "v");
  const Value one = constant(g, 1.0f), effect = assign_add(v, one);
  const Value now = g.add("Timestamp", {}, {}, "now");
  g.add_control_input(now.node(), effect.node());
  const Value y = with_dependencies({now.control()}, one, "y");
  for (const bool ran : {false, true}) {
    StepSignature asked{.feeds = {now.endpoint()}, .feed_shapes = {Shape{}}, .fetches = {y.endpoint()}};
    if (ran) asked.ran = {now.node()};
    const auto step = prune_step(g, asked);
    ASSERT_TRUE(step.ok()) << step.status().to_string();
    EXPECT_EQ(step->graph.find("now").has_value(), !ran);
    EXPECT_EQ(step->graph.find(g.node(effect.node()).name).has_value(), !ran);
  }
}

// What assigns to it is in another step.
TEST(Prune, AVariableThatMayGetAnotherShapeHasNone) {
  for (const bool validates : {true, false}) {
    Graph g;
    const VariableNode v = variable(g, PartialShape({2}), DType::kFloat32, "v");
    const Value x = placeholder(g, DType::kFloat32, PartialShape::unknown(), "x");
    g.add("Assign", {v.ref, x}, {{"validate_shape", validates}});
    const Value size = g.add("Size", {v.ref});
    auto step = prune_step(g, {.fetches = {size.endpoint()}});
    const auto lean = prepare_step(*std::move(step), {});
    ASSERT_TRUE(lean.ok()) << lean.status().to_string();
    EXPECT_EQ(lean->graph.constant(lean->fetches[0]) != nullptr, validates);
  }
}

TEST(Prune, AHandleWhoseVariableMayGetAnotherShapeSaysNone) {
  const auto said = [](bool validates, const std::function<Value(Graph&)>& make) {
    Graph g;
    const VariableNode v = variable(g, PartialShape({2}), DType::kFloat32, "v", {.kind = VariableKind::kResource});
    g.add("AssignVariableOp", {v.ref, make(g)}, {{"validate_shape", validates}});
    const Value read = g.add("ReadVariableOp", {v.ref}, {{"dtype", DType::kFloat32}});
    EXPECT_TRUE(g.status().ok()) << g.status().to_string();
    const auto step = prune_step(g, {.fetches = {read.endpoint()}});
    EXPECT_TRUE(step.ok()) << step.status().to_string();
    return step.ok() ? step->graph.shape(step->fetches[0]).to_string() : "";
  };
  const auto fed = [](Graph& g) { return placeholder(g, DType::kFloat32, PartialShape::unknown(), "x"); };
  const auto other = [](Graph& g) { return constant(g, Tensor::vector<float>({1, 2, 3})); };
  const auto same = [](Graph& g) { return constant(g, Tensor::vector<float>({1, 2})); };
  const auto restored = [](Graph& g) {
    const Value name = constant(g, Tensor::vector<std::string>({"v"}));
    const Value slice = constant(g, Tensor::vector<std::string>({""}));
    return identity(g.add("RestoreV2", {constant(g, Tensor::scalar(std::string("model"))), name, slice},
                          {{"dtypes", std::vector<DType>{DType::kFloat32}}}));
  };
  EXPECT_EQ(said(true, fed), "[2]");
  EXPECT_EQ(said(false, fed), PartialShape::unknown().to_string());
  EXPECT_EQ(said(false, other), PartialShape::unknown().to_string());
  EXPECT_EQ(said(false, same), "[2]");
  EXPECT_EQ(said(false, restored), "[2]");
}

// Two nodes of one name are one variable: what is assigned by the one is read by the other.
TEST(Prune, NodesOfOneNameLoseTheirShapeTogether) {
  for (const bool by_handle : {true, false}) {
    for (const char* shared : {"both", "other"}) {
      Graph g;
      const auto named = [&](const char* name) {
        const AttrMap attrs = {
            {"dtype", DType::kFloat32}, {"shape", PartialShape{2}}, {"shared_name", std::string(name)}};
        return g.add(by_handle ? "VarHandleOp" : "VariableV2", {}, attrs);
      };
      const Value v = named("both"), w = named(shared);
      const Value x = placeholder(g, DType::kFloat32, PartialShape::unknown(), "x");
      g.add(by_handle ? "AssignVariableOp" : "Assign", {w, x}, {{"validate_shape", false}});
      const Value read = by_handle ? g.add("ReadVariableOp", {v}, {{"dtype", DType::kFloat32}}) : identity(v);
      ASSERT_TRUE(g.status().ok()) << g.status().to_string();
      const auto step = prune_step(g, {.fetches = {read.endpoint()}});
      ASSERT_TRUE(step.ok()) << step.status().to_string();
      EXPECT_EQ(step->graph.shape(step->fetches[0]).has_rank(), std::string(shared) == "other");
    }
  }
}

//  Const ─► Identity ─► OnesLike     ──►     Const
TEST(ConstantFolding, ComputesWhatIsKnown) {
  Graph g;
  const Value y = ones_like(identity(constant(g, Tensor::vector<float>({1, 2}))));
  auto step = prune_step(g, {.fetches = {y.endpoint()}});
  const auto lean = prepare_step(*std::move(step), {});
  ASSERT_TRUE(lean.ok()) << lean.status().to_string();
  EXPECT_THAT(ops_of(lean->graph), testing::ElementsAre("Const"));
  EXPECT_EQ(lean->graph.constant(lean->fetches[0])->data<float>()[1], 1);
}

// Where a gradient begins: ones like a loss whose shape is known, unless an effect comes before that.
TEST(ConstantFolding, OnesLikeWhatIsComputed) {
  for (const bool effect : {false, true}) {
    Graph g;
    const Value x = placeholder(g, DType::kFloat32, {2, 3}, "x");
    const VariableNode v = variable(g, Tensor::scalar(1.0f), "v");
    const Value read = effect ? identity(assign_add(v, constant(g, 1.0f))) : v.read;
    const Value y = ones_like(x + read);
    auto step = prune_step(g, {.feeds = {x.endpoint()}, .feed_shapes = {Shape{2, 3}}, .fetches = {y.endpoint()}});
    const auto lean = prepare_step(*std::move(step), {});
    ASSERT_TRUE(lean.ok()) << lean.status().to_string();
    EXPECT_EQ(lean->graph.constant(lean->fetches[0]) != nullptr, !effect);
  }
}

// What a constant waits for may be waited for by what reads it, where that is an effect itself: it is none of the
// step's nodes then.
TEST(ConstantFolding, ConstantsOfEffectsWaitForNothing) {
  Graph g;
  const VariableNode v = variable(g, Tensor::scalar(1.0f), "v"), w = variable(g, Tensor::scalar(1.0f), "w");
  const Value effect = assign_add(w, constant(g, 1.0f));
  Value counted;
  {
    const auto after = g.control_dependencies({effect.control()});
    counted = assign_add(v, constant(g, 1.0f));
  }
  auto step = prune_step(g, {.targets = {counted.node()}});
  const auto lean = prepare_step(*std::move(step), {});
  ASSERT_TRUE(lean.ok()) << lean.status().to_string();
  int waiting = 0;
  for (const Node& n : lean->graph.nodes()) {
    if (n.op->name == "Const") {
      EXPECT_TRUE(n.controls.empty());
    }
    waiting += n.op->name == "AssignAdd" && !n.controls.empty() ? 1 : 0;
  }
  EXPECT_EQ(waiting, 1);
}

TEST(DropDeadNodes, FewMayStayAsNodesThatReadNothing) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {2}, "x");
  Value y = x;
  for (int i = 0; i < 20; ++i) y = g.add("Neg", {y});
  auto step = prune_step(g, {.fetches = {y.endpoint()}});
  ASSERT_TRUE(step.ok());
  const int size = step->graph.size();
  // Nobody needs the last but one any more.
  const NodeId end = step->fetches[0].node, dead = step->graph.node(end).inputs[0].node;
  step->graph.set_input(end, 0, step->graph.node(dead).inputs[0]);
  ASSERT_TRUE(remove_unused_nodes(*step, UnusedNodes::kMayKeep).ok());
  EXPECT_EQ(step->graph.size(), size);
  const Node& buried = step->graph.node(dead);
  EXPECT_EQ(buried.op->name, "NoOp");
  EXPECT_TRUE(buried.inputs.empty() && buried.controls.empty() && buried.output_dtypes.empty());
  EXPECT_EQ(step->graph.consumers()[step->graph.node(end).inputs[0].node.index].size(), 1U);
  ASSERT_TRUE(remove_unused_nodes(*step).ok());
  EXPECT_EQ(step->graph.size(), size - 1);
  // Of many, none stays.
  step->fetches[0] = {NodeId{10}, 0};
  ASSERT_TRUE(remove_unused_nodes(*step, UnusedNodes::kMayKeep).ok());
  EXPECT_EQ(step->graph.size(), 11);
}

// Scripts may give the names of version 0.1: they switch off the same passes, and the notes say so in the new words.
TEST(PrepareStep, OldNamesOfPassesMeanTheSame) {
  const auto notes_without = [](const std::string& names) {
    Graph g;
    const Value x = placeholder(g, DType::kFloat32, {2}, "x");
    const Value y = g.add("AddV2", {g.add("Neg", {x}), g.add("Neg", {x})});
    const Value z = g.add("Mul", {y, g.add("Neg", {constant(g, Tensor::vector<float>({1, 2}))})});
    auto step = prune_step(g, {.fetches = {z.endpoint()}});
    EXPECT_TRUE(step.ok()) << step.status().to_string();
    const auto prepared = prepare_step(*std::move(step), {.without = names});
    EXPECT_TRUE(prepared.ok()) << prepared.status().to_string();
    return prepared.ok() ? prepared->notes : std::vector<std::string>{};
  };
  const std::pair<const char*, const char*> names[] = {{"fold", "constant_folding"},
                                                       {"relax_order", "prune_control_edges"},
                                                       {"bypass", "remove_identities"},
                                                       {"merge_equal", "cse"},
                                                       {"fold,merge_equal", "constant_folding,cse"}};
  for (const auto& [old_name, new_name] : names) {
    const auto notes = notes_without(old_name);
    EXPECT_EQ(notes, notes_without(new_name)) << old_name;
    EXPECT_NE(notes, notes_without("")) << old_name;
    EXPECT_THAT(notes, testing::Contains(str_cat(str_split(new_name, ',')[0], ": off"))) << old_name;
  }
}

TEST(Place, AskedDefaultAndMoved) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {2}, "x");
  const Value plain = identity(x, "plain");
  Value asked, impossible;
  {
    const auto on = g.device("/gpu:1");
    asked = identity(x, "asked");
    impossible = zeros_like(x);
  }
  const PlaceOptions options{.devices = one_cpu_two_gpus(), .has_kernel = [](const OpDef& op, const DeviceSpec& d) {
                               return !d.is_gpu() || op.name != "ZerosLike";
                             }};
  const auto placed = place(g, options);
  ASSERT_TRUE(placed.ok()) << placed.status().to_string();
  EXPECT_EQ(placed->device[plain.node().index], 1);
  EXPECT_EQ(placed->device[asked.node().index], 2);
  EXPECT_EQ(placed->device[impossible.node().index], 0);
  EXPECT_THAT(placed->reason_of(impossible.node()), testing::HasSubstr("no kernel"));
}

TEST(Place, ColocationFollowsTheLeader) {
  Graph g;
  Value leader;
  {
    const auto on = g.device("/gpu:1");
    leader = placeholder(g, DType::kFloat32, {2}, "leader");
  }
  Value follower;
  {
    const auto with = g.colocate_with(leader);
    follower = ones_like(leader);
  }
  const auto placed =
      place(g, {.devices = one_cpu_two_gpus(), .has_kernel = [](const OpDef&, const DeviceSpec&) { return true; }});
  ASSERT_TRUE(placed.ok());
  EXPECT_EQ(placed->device[follower.node().index], 2);
}

// Embeddings' sparse gradients: Unique, colocated with the variable by its "_class", had no kernel on the GPU where that
// lived. The variable went to the CPU with it, and was another one there, without a value.
TEST(Place, WhatOnlyStaysBesideAVariableDoesNotMoveIt) {
  Graph g;
  const Value variable = g.add("VarHandleOp", {}, {{"dtype", DType::kFloat32}, {"shape", PartialShape({2})}}, "v");
  const Value read = g.add("ReadVariableOp", {variable}, {{"dtype", DType::kFloat32}}, "read");
  Value beside;
  {
    const auto with = g.colocate_with(variable);
    beside = g.add("Unique", {placeholder(g, DType::kInt64, {2}, "ids")}, {}, "unique");
  }
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  PlaceOptions options{.devices = one_cpu_two_gpus(), .has_kernel = [](const OpDef& op, const DeviceSpec& d) {
                         return !d.is_gpu() || op.name != "Unique";
                       }};
  const auto devices = [&]() -> std::vector<int> {
    const auto placed = place(g, options);
    EXPECT_TRUE(placed.ok()) << placed.status().to_string();
    if (!placed.ok()) return {};
    return {placed->device[variable.node().index], placed->device[read.node().index],
            placed->device[beside.node().index]};
  };
  EXPECT_EQ(devices(), (std::vector<int>{0, 0, 0}));  // nowhere yet: all together
  options.home = [](const Node&, const DeviceName&) { return 2; };
  EXPECT_EQ(devices(), (std::vector<int>{2, 2, 0}));
}

// What tf.gradients builds for two towers without colocate_gradients_with_ops, and what is no gradient by its name.
TEST(Place, GradientsFollowTheirForwardOps) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {2}, "x");
  const auto pinned = [&](const char* device, const char* name) {
    const auto on = g.device(device);
    return g.add("Square", {identity(x)}, {}, name);
  };
  const Value tower = pinned("/gpu:1", "tower_1/Square"), host = pinned("/cpu:0", "a_grad/Square");
  const Value open = g.add("Square", {x}, {}, "open/Square");
  struct Case {
    const char* name;
    const char* device;
    const char* reason;
  };
  const std::vector<Case> cases = {{"train/gradients/tower_1/Square_grad/Mul_1", "GPU:1", "with its forward op"},
                                   {"gradients_2/tower_1/Square_grad/Mul", "GPU:1", "with its forward op"},
                                   {"gradients/a_grad/Square_grad/Mul", "CPU:0", "with its forward op"},
                                   {"gradients/open/Square_grad/Mul", "GPU:0", "default"},
                                   {"mygradients/tower_1/Square_grad/Mul", "GPU:0", "default"},
                                   {"gradients/tower_1/Square_gradual/Mul", "GPU:0", "default"},
                                   {"gradients/nobody/Square_grad/Mul", "GPU:0", "default"}};
  StepSignature signature{.fetches = {tower.endpoint(), host.endpoint(), open.endpoint()}};
  for (const Case& c : cases) signature.fetches.push_back(g.add("Neg", {x}, {}, c.name).endpoint());
  // A wish: where there is no kernel for it, it is no error.
  const Value lost = g.add("OnesLike", {x}, {}, "gradients/tower_1/Square_grad/OnesLike");
  signature.fetches.push_back(lost.endpoint());
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  auto step = prune_step(g, signature);
  ASSERT_TRUE(step.ok()) << step.status().to_string();
  const auto placed =
      place(step->graph,
            {.devices = one_cpu_two_gpus(),
             .has_kernel = [](const OpDef& op, const DeviceSpec& d) { return !d.is_gpu() || op.name != "OnesLike"; },
             .allow_soft_placement = false});
  ASSERT_TRUE(placed.ok()) << placed.status().to_string();
  for (const Case& c : cases) {
    const NodeId id = *step->graph.find(c.name);
    EXPECT_THAT(placed->device_of(id), testing::EndsWith(c.device)) << c.name;
    EXPECT_EQ(placed->reason_of(id), c.reason) << c.name;
  }
  EXPECT_THAT(placed->device_of(*step->graph.find(g.node(lost.node()).name)), testing::EndsWith("CPU:0"));
}

// Scripts of TensorFlow 1.x ask for a GPU and not for soft placement: what TensorFlow has a kernel for there must run.
TEST(Place, WhatTensorFlowHasOnAGpuIsNoErrorHere) {
  const auto placed_on_gpu = [](const char* op) {
    Graph g;
    const Value x = placeholder(g, DType::kFloat32, {2, 2, 2, 3}, "x");
    const auto on = g.device("/gpu:0");
    const Value y = g.add(op, {x}, {}, "y");
    EXPECT_TRUE(g.status().ok()) << g.status().to_string();
    auto placed = place(g, {.devices = one_cpu_two_gpus(),
                            .has_kernel = [](const OpDef&, const DeviceSpec& d) { return !d.is_gpu(); },
                            .allow_soft_placement = false});
    if (placed.ok()) {
      EXPECT_THAT(placed->reason_of(y.node()), testing::HasSubstr("no kernel"));
    }
    return placed.status();
  };
  EXPECT_TRUE(placed_on_gpu("Digamma").ok());
  EXPECT_EQ(placed_on_gpu("RandomShuffle").id(), "ARG-PLACE-001");  // TensorFlow has it for CPUs alone
}

TEST(Place, RefusesWithoutSoftPlacement) {
  Graph g;
  {
    const auto on = g.device("/gpu:9");
    placeholder(g, DType::kFloat32, {2}, "x");
  }
  const auto placed = place(g, {.devices = one_cpu_two_gpus(),
                                .has_kernel = [](const OpDef&, const DeviceSpec&) { return true; },
                                .allow_soft_placement = false});
  EXPECT_EQ(placed.status().id(), "ARG-PLACE-001");
  EXPECT_THAT(placed.status().message(), testing::StartsWith("Cannot assign a device for operation x"));
  EXPECT_THAT(placed.status().hint(), testing::HasSubstr("DeviceRequest.emulate = \"10\""));
  EXPECT_THAT(placed.status().hint(), testing::HasSubstr("--emulate 10"));
}

TEST(Place, TellsWhichDeviceIsNotThere) {
  Graph g;
  {
    const auto on = g.device("/gpu:9");
    const Value x = placeholder(g, DType::kFloat32, {2}, "x");
    g.add("Neg", {x});
  }
  {
    const auto on = g.device("/gpu:1");
    placeholder(g, DType::kFloat32, {2}, "y");
  }
  const auto placed =
      place(g, {.devices = one_cpu_two_gpus(), .has_kernel = [](const OpDef&, const DeviceSpec&) { return true; }});
  ASSERT_TRUE(placed.ok()) << placed.status().to_string();
  ASSERT_EQ(placed->missing_devices.size(), 1U);
  EXPECT_THAT(placed->missing_devices[0], testing::StartsWith("there is no gpu:9 here"));
  EXPECT_THAT(placed->missing_devices[0], testing::HasSubstr("DeviceRequest.emulate = \"10\""));
}

}  // namespace
}  // namespace argosy
