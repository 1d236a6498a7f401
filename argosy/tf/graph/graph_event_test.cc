#include "argosy/tf/graph/graph_event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "argosy/base/system/test_files.h"
#include "argosy/formats/proto/graph.pb.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/tf/graph/functions/function_library.h"
#include "argosy/tf/graph/graph_export.h"

namespace argosy::tf {
namespace {

OpRegistry toy_ops() {
  OpRegistry ops;
  ops.add({.name = "Source",
           .doc = "",
           .outputs = {"y: float"},
           .attrs = {"shape: shape", "value: tensor", "names: list(string)"},
           .shape = unknown_output,
           .gradient = kNotDifferentiable});
  ops.add({.name = "Neg",
           .doc = "",
           .inputs = {"x: float"},
           .outputs = {"y: float"},
           .shape = same_as_input,
           .gradient = kNotDifferentiable});
  return ops;
}

Graph toy_graph(const OpRegistry& ops) {
  Graph g(ops);
  const auto scope = g.device("/gpu:1");
  const Value x = g.add("Source", {},
                        {{"shape", PartialShape{-1, 3}},
                         {"value", Tensor::zeros(DType::kFloat32, {1000})},
                         {"names", std::vector<std::string>{"a", "b"}}},
                        "x");
  const Value other = g.add(
      "Source", {},
      {{"shape", PartialShape::unknown()}, {"value", Tensor::scalar(2.0f)}, {"names", std::vector<std::string>{}}});
  g.add("Neg", {x, other.control()});
  return g;
}

TEST(WriteGraph, PutsTheGraphIntoTheEventFile) {
  TempDirectory temp;
  const OpRegistry ops = toy_ops();
  const Graph g = toy_graph(ops);
  std::string path;
  {
    auto writer = *EventWriter::open(temp.path("logs/run"));
    path = writer->path();
    ASSERT_TRUE(write_graph(*writer, g).ok());
  }
  EventReader reader = *EventReader::open(path);
  ASSERT_TRUE(reader.next().ok());  // the file's version
  const auto event = reader.next();
  ASSERT_TRUE(event.ok() && event->has_value());
  // Protobuf writes a map in any order.
  tensorflow::GraphDef written, wanted;
  ASSERT_TRUE(written.ParseFromString((*event)->graph_def));
  ASSERT_TRUE(wanted.ParseFromString(*export_graph(g, {.picture = true})));
  EXPECT_EQ(written.node_size(), 3);
  EXPECT_EQ(canonical_bytes(written), canonical_bytes(wanted));
}

TEST(GraphPicture, KeepsStructureAndDropsBulk) {
  const OpRegistry ops = toy_ops();
  const Graph g = toy_graph(ops);
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  tensorflow::GraphDef def;
  ASSERT_TRUE(def.ParseFromString(*export_graph(g, {.picture = true})));
  ASSERT_EQ(def.node_size(), 3);
  EXPECT_EQ(def.node(0).name(), "x");
  EXPECT_EQ(def.node(0).op(), "Source");
  EXPECT_THAT(def.node(0).device(), testing::HasSubstr("1"));
  EXPECT_EQ(def.node(0).attr().at("shape").shape().dim(0).size(), -1);
  EXPECT_EQ(def.node(0).attr().at("value").tensor().tensor_content(), "");
  EXPECT_EQ(def.node(0).attr().at("names").list().s(1), "b");
  EXPECT_EQ(def.node(1).attr().at("value").tensor().tensor_content().size(), 4u);
  EXPECT_TRUE(def.node(1).attr().at("names").has_list());
  EXPECT_TRUE(def.node(1).attr().at("shape").shape().unknown_rank());
  EXPECT_THAT(std::vector(def.node(2).input().begin(), def.node(2).input().end()),
              testing::ElementsAre("x", "^Source"));
}

}  // namespace
}  // namespace argosy::tf
