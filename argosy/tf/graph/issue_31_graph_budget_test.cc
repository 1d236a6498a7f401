// Issue 31: a graph with very many constants, each of them small, took as much host memory as it liked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "argosy/base/memory/host_budget.h"
#include "argosy/formats/proto/graph.pb.h"
#include "argosy/tf/graph/imported_graph.h"

namespace argosy::tf {
namespace {

using testing::AllOf;
using testing::HasSubstr;

tensorflow::GraphDef strings(const std::string& prefix, int count, std::size_t bytes) {
  tensorflow::GraphDef def;
  for (int i = 0; i < count; ++i) {
    tensorflow::NodeDef& node = *def.add_node();
    node.set_name(prefix + std::to_string(i));
    node.set_op("Const");
    (*node.mutable_attr())["dtype"].set_type(tensorflow::DT_STRING);
    tensorflow::TensorProto& value = *(*node.mutable_attr())["value"].mutable_tensor();
    value.set_dtype(tensorflow::DT_STRING);
    value.mutable_tensor_shape();
    value.add_string_val(std::string(bytes, 's'));
  }
  return def;
}

TEST(GraphBudget, ManyLongConstantsAreRefused) {
  const std::int64_t before = host_budget().in_use();
  const auto limit = host_budget().with_limit(before + (64 << 20));
  {
    ImportedGraph graph;
    const Status refused = graph.extend(strings("a", 100'000, 1000));
    EXPECT_EQ(refused.id(), "ARG-MEM-004") << refused.to_string();
    EXPECT_THAT(refused.to_string(), AllOf(HasSubstr("100000 nodes"), HasSubstr("--mem cpu:0")));
    EXPECT_EQ(graph.num_nodes(), 0);
    // A little at a time comes to the same.
    Status status;
    int parts = 0;
    for (; parts < 100 && status.ok(); ++parts) {
      status = graph.extend(strings("part" + std::to_string(parts) + "_", 1000, 1000));
    }
    EXPECT_EQ(status.id(), "ARG-MEM-004") << status.to_string();
    EXPECT_THAT(status.message(), HasSubstr("graphs"));
    EXPECT_GT(parts, 20);
    EXPECT_LT(parts, 40);
    const auto value = graph.value("part0_7");
    EXPECT_TRUE(value.ok()) << value.status().to_string();
  }
  EXPECT_EQ(host_budget().in_use(), before) << "given back with the graph";
  ImportedGraph next;
  EXPECT_TRUE(next.extend(strings("a", 100, 1000)).ok());
}

}  // namespace
}  // namespace argosy::tf
