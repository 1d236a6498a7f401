// Placement of variables that one node, or one colocation, takes together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "argosy/ops/constant/constant.h"
#include "argosy/passes/place/place.h"

namespace argosy {
namespace {

PlaceOptions two_tasks(bool soft) {
  PlaceOptions options{.has_kernel = [](const OpDef&, const DeviceSpec&) { return true; },
                       .allow_soft_placement = soft};
  for (const char* const task : {"/job:worker/replica:0/task:0", "/job:ps/replica:0/task:0"}) {
    for (const char* const device : {"/device:CPU:0", "/device:GPU:0", "/device:GPU:1"}) {
      options.devices.push_back({.name = DeviceName::parse(str_cat(task, device)).value()});
    }
  }
  return options;
}

Value variable_on(Graph& g, const char* device, bool is_reference, const char* name) {
  const auto on = g.device(device);
  return g.add(is_reference ? "VariableV2" : "VarHandleOp", {},
               {{"dtype", DType::kFloat32}, {"shape", PartialShape({2})}}, name);
}

// One of two variables, chosen by a value of the step.
Value either(Graph& g, const Value& v, const Value& w, bool is_reference) {
  const Value first = placeholder(g, DType::kBool, {}, "first");
  const char* const fork = is_reference ? "RefSwitch" : "Switch";
  const Value from_v = g.add(fork, {v, first}).output(1);
  const Value from_w = g.add(fork, {w, first}).output(0);
  return g.add(is_reference ? "RefMerge" : "Merge", {from_v, from_w}, {}, "either");
}

// A node is on one device, and so are the variables that it may mean.
TEST(PlaceResources, OfTwoDevicesAreRefusedAtANodeThatTakesBoth) {
  for (const bool is_reference : {true, false}) {
    for (const bool soft : {true, false}) {
      for (const auto& [of_v, of_w, fits] :
           std::vector<std::tuple<const char*, const char*, bool>>{{"/job:worker/gpu:0", "/job:worker/gpu:1", false},
                                                                   {"/job:worker", "/job:ps", false},
                                                                   {"/gpu:0", "/cpu:0", false},
                                                                   {"/job:ps/gpu:1", "/job:ps", true},
                                                                   {"/gpu:1", "", true},
                                                                   {"/job:worker", "/gpu:1", true}}) {
        SCOPED_TRACE(str_cat(of_v, " and ", of_w, ", ", is_reference, soft));
        Graph g;
        const Value v = variable_on(g, of_v, is_reference, "v");
        const Value w = variable_on(g, of_w, is_reference, "w");
        either(g, v, w, is_reference);
        ASSERT_TRUE(g.status().ok()) << g.status().to_string();
        const auto placed = place(g, two_tasks(soft));
        ASSERT_EQ(placed.ok(), fits) << placed.status().to_string();
        if (fits) {
          EXPECT_EQ(placed->device[v.node().index], placed->device[w.node().index]);
        } else {
          EXPECT_EQ(placed.status().id(), "ARG-PLACE-002");
          EXPECT_THAT(placed.status().message(), testing::HasSubstr("incompatible resource devices: "));
          EXPECT_THAT(placed.status().message(), testing::HasSubstr("the dst node is name='either'"));
        }
      }
    }
  }
}

// What each two could agree on, all three cannot: in whatever order the node takes them.
TEST(PlaceResources, OfThreeDevicesAreRefusedInAnyOrder) {
  std::vector<const char*> devices = {"/job:worker/task:0", "/cpu:0", "/job:ps/task:0"};
  std::ranges::sort(devices);
  do {
    for (const bool is_reference : {true, false}) {
      Graph g;
      std::vector<Value> from;
      const Value first = placeholder(g, DType::kBool, {}, "first");
      for (const char* const device : devices) {
        const Value v = variable_on(g, device, is_reference, str_cat("v", from.size()).c_str());
        from.push_back(g.add(is_reference ? "RefSwitch" : "Switch", {v, first}).output(1));
      }
      g.add(is_reference ? "RefMerge" : "Merge", from);
      ASSERT_TRUE(g.status().ok()) << g.status().to_string();
      EXPECT_EQ(place(g, two_tasks(true)).status().id(), "ARG-PLACE-002") << str_join(devices);
    }
  } while (std::ranges::next_permutation(devices).found);
}

// A colocation gives up the request of what has no state: a variable elsewhere would be another one.
TEST(PlaceResources, DecideForPlainOpsThatTheyAreColocatedWith) {
  for (const bool variable_leads : {true, false}) {
    Graph g;
    const auto plain_on_ps = [&] {
      const auto on = g.device("/job:ps/gpu:0");
      return placeholder(g, DType::kFloat32, {2}, "plain");
    };
    Value v, plain;
    if (variable_leads) {
      v = variable_on(g, "/job:worker/gpu:1", false, "v");
      const auto with = g.colocate_with(v);
      plain = plain_on_ps();
    } else {
      plain = plain_on_ps();
      const auto with = g.colocate_with(plain);
      v = variable_on(g, "/job:worker/gpu:1", false, "v");
    }
    ASSERT_TRUE(g.status().ok()) << g.status().to_string();
    const auto placed = place(g, two_tasks(true));
    ASSERT_TRUE(placed.ok()) << placed.status().to_string();
    EXPECT_EQ(placed->device_of(v.node()), "/job:worker/replica:0/task:0/device:GPU:1");
    EXPECT_EQ(placed->device_of(plain.node()), placed->device_of(v.node()));
  }
}

}  // namespace
}  // namespace argosy
