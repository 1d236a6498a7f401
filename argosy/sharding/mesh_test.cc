#include "argosy/sharding/mesh.h"

#include <gtest/gtest.h>

#include "argosy/sharding/placement.h"

namespace argosy {
namespace {

TEST(Mesh, CountsDevicesAndTurns) {
  const Mesh mesh{.axes = {{.name = "data", .size = 2}, {.name = "turns", .size = 4, .over = MeshAxis::Over::kTurns}},
                  .devices = {"/device:GPU:0", "/device:GPU:1"}};
  EXPECT_TRUE(mesh.check().ok()) << mesh.check().to_string();
  EXPECT_EQ(mesh.size(), 8);
  EXPECT_EQ(mesh.device_count(), 2);
  ASSERT_NE(mesh.find("turns"), nullptr);
  EXPECT_EQ(mesh.find("turns")->size, 4);
  EXPECT_EQ(mesh.find("model"), nullptr);
}

TEST(Mesh, SaysWhatDoesNotFit) {
  Mesh mesh{.axes = {{.name = "data", .size = 2}, {.name = "model", .size = 2}}, .devices = {"a", "b"}};
  EXPECT_NE(mesh.check().to_string().find("room for 4 devices, and there are 2"), std::string::npos);
  mesh.axes[1].name = "data";
  EXPECT_NE(mesh.check().to_string().find("two mesh axes"), std::string::npos);
  mesh.axes = {{.name = "data", .size = 2, .weights = {1, 2, 3}}};
  EXPECT_NE(mesh.check().to_string().find("2 shards and 3 weights"), std::string::npos);
  mesh.axes = {{.name = "data", .size = 0}};
  EXPECT_NE(mesh.check().to_string().find("at least 1"), std::string::npos);
}

TEST(Placement, HasAText) {
  EXPECT_EQ(to_string(Placement::replicate()), "R");
  EXPECT_EQ(to_string(Placement::shard(1)), "S(1)");
  EXPECT_EQ(to_string(Placement::shard(0, 3)), "S(0)/3");
  EXPECT_EQ(to_string(Placement::shard(0, 3, 5)), "S(0)/3*5");
  EXPECT_EQ(to_string(Placement::partial(Combine::kMax)), "P(max)");
  EXPECT_EQ(to_string(Layout{Placement::shard(0), Placement::partial(), Placement::once()}), "S(0) P(sum) once");
}

}  // namespace
}  // namespace argosy
