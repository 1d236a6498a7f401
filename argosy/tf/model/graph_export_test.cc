#include "argosy/tf/graph/graph_export.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "argosy/formats/proto/graph.pb.h"
#include "argosy/graph/gradients.h"
#include "argosy/graph/text.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/control_flow/functional.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/state/state.h"
#include "argosy/tf/graph/imported_graph.h"

namespace argosy::tf {
namespace {

using Values = std::vector<Value>;

// Nodes come back in an order in which inputs are first.
std::string sorted_lines(const std::string& text) {
  std::vector<std::string> lines = str_split(text, '\n');
  std::sort(lines.begin(), lines.end());
  return str_join(lines, "\n");
}

// The text of what comes back, all of it.
std::string back(const Graph& graph, const ExportOptions& options = {}) {
  const auto bytes = export_graph(graph, options);
  if (!bytes.ok()) return bytes.status().to_string();
  ImportedGraph in;
  if (Status status = in.extend(*bytes); !status.ok()) return status.to_string();
  for (const auto& failure : in.convert_all()) return failure.status.to_string();
  return to_text(in.graph());
}

TEST(GraphExport, ComesBackAsItWas) {
  const char* text = R"(
x = Placeholder [dtype=float, shape=shape[?,4]] @/device:GPU:0
w = Const [dtype=float, value=float[4,2] {1, 2, 3, 4, 5, 6, 7, 8.5}, _class=["loc:@x"], _mine=[1, 2]]
s = Const [dtype=string, value=string[2] {"a\x00b", ""}]
init = NoOp
y = MatMul(x, w, ^init) [transpose_a=false, _note="kept"]
q = Split(axis, x) [num_split=2]
axis = Const [dtype=int32, value=int32[] {1}]
z = AddN(q:1, q) [N=2]
p = ConcatV2(x, z, axis) [N=2]
)";
  std::string sorted = text;  // the text form wants inputs first
  const std::size_t axis = sorted.find("axis = Const"), end = sorted.find('\n', axis) + 1;
  sorted = sorted.substr(0, 1) + sorted.substr(axis, end - axis) + sorted.substr(1, axis - 1) + sorted.substr(end);
  const auto graph = parse_text(sorted, Graph().ops());
  ASSERT_TRUE(graph.ok()) << graph.status().to_string();
  EXPECT_EQ(back(*graph), to_text(*graph));
  EXPECT_EQ(back(*graph, {.strip_defaults = true}), to_text(*graph));
}

TEST(GraphExport, FunctionsComeBack) {
  Graph graph;
  const Value x = placeholder(graph, DType::kFloat64, PartialShape::scalar(), "x");
  const Value y = cond_value(
      greater(x, 0), [&] { return x * x; },
      [&] {
        return cond_value(
            less(x, -1), [&] { return -x; }, [&] { return x + 1; });
      });
  const Values last = while_loop(
      {constant(graph, 0.0), y}, [&](const Values& v) { return less(v[0], 3); },
      [&](const Values& v) {
        return Values{v[0] + 1, sin(v[1]) * x};
      });
  const auto dx = gradients(graph, {last[1]}, {x});
  ASSERT_TRUE(graph.status().ok()) << graph.status().to_string();
  EXPECT_FALSE(graph.functions().empty());
  EXPECT_EQ(sorted_lines(back(graph)), sorted_lines(to_text(graph)));
}

TEST(GraphExport, Picture) {
  Graph graph;
  const Value big = constant(graph, Tensor::zeros(DType::kFloat32, {100}), "big");
  ASSERT_TRUE(big.valid());
  tensorflow::GraphDef def;
  ASSERT_TRUE(export_graph(graph, &def, {.picture = true}).ok());
  EXPECT_TRUE(def.node(0).attr().at("value").tensor().tensor_content().empty());
  EXPECT_EQ(def.node(0).attr().at("_output_shapes").list().shape(0).dim(0).size(), 100);
  ASSERT_TRUE(export_graph(graph, &def).ok());
  EXPECT_EQ(def.node(0).attr().at("value").tensor().tensor_content().size(), 400u);
}

}  // namespace
}  // namespace argosy::tf
