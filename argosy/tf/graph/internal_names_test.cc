// Names that begin with '_': a master gives them when it cuts a step, a client may not.
#include <gtest/gtest.h>

#include "argosy/formats/proto/graph.pb.h"
#include "argosy/tf/graph/imported_graph.h"

namespace argosy::tf {
namespace {

TEST(ImportedGraph, InternalNamesOnlyWhereAllowed) {
  tensorflow::GraphDef def;
  def.add_node()->set_name("_recv_x_0");
  def.mutable_node(0)->set_op("NoOp");
  ImportedGraph of_clients;
  EXPECT_FALSE(of_clients.extend(def.SerializeAsString()).ok());
  ImportedGraph of_masters;
  of_masters.allow_internal_names();
  EXPECT_TRUE(of_masters.extend(def.SerializeAsString()).ok());
  EXPECT_TRUE(of_masters.has("_recv_x_0"));
  def.mutable_node(0)->set_name("_");
  EXPECT_FALSE(of_masters.extend(def.SerializeAsString()).ok());
}

}  // namespace
}  // namespace argosy::tf
