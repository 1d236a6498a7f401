// A node whose inputs are not those of its op's definition reached kernels, which read one dtype as another or past the
// end of their inputs: a failed check, or worse. Here every op, with an input of another dtype, one too many, one too
// few: refused with the node's name before anything runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "argosy/ops/ops.h"
#include "argosy/runtime/session/session.h"
#include "tests/session/attr_values_test.h"
#include "tests/session/support/test_session.h"

namespace argosy {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Value any(Graph& graph, DType dtype) {
  return graph.add("Placeholder", {}, {{"dtype", dtype}, {"shape", PartialShape::unknown()}});
}

struct Made {
  Graph graph;
  Value node;
  std::vector<DType> inputs;
};

// The op on placeholders; not valid(): its attributes or shapes want more than a definition says.
std::unique_ptr<Made> make(const OpDef& op, std::int64_t length, int inputs_more = 0, int other_input = -1) {
  auto made = std::make_unique<Made>();
  AttrMap attrs;
  for (const AttrDef& def : op.attr_defs) {
    const bool given = std::holds_alternative<std::monostate>(def.value);
    if (given) attrs.set(def.name, value_of(def, std::max(length, def.minimum.value_or(0))));
  }
  AttrMap all = attrs;
  for (const AttrDef& def : op.attr_defs) {
    if (all.find(def.name) == nullptr) all.set(def.name, def.value);
  }
  std::vector<bool> refs;
  const auto dtypes = arg_dtypes(op.input_args, all, &refs);
  if (!dtypes.ok()) return made;
  made->inputs = *dtypes;
  std::vector<Value> inputs;
  for (std::size_t i = 0; i < dtypes->size(); ++i) {
    const DType dtype = static_cast<int>(i) != other_input   ? (*dtypes)[i]
                        : (*dtypes)[i] == DType::kComplex128 ? DType::kInt16
                                                             : DType::kComplex128;
    inputs.push_back(refs[i] ? made->graph.add("VariableV2", {}, {{"dtype", dtype}, {"shape", PartialShape::unknown()}})
                             : any(made->graph, dtype));
  }
  if (inputs_more > 0) inputs.push_back(any(made->graph, DType::kFloat32));
  if (inputs_more < 0 && !inputs.empty()) inputs.pop_back();
  made->node = made->graph.add(op.name, inputs, all);
  return made;
}

Status run(const Made& made) {
  TestSession session(made.graph, {.devices = {.devices = "cpu:0", .cpu_threads = 1}});
  return session.run({}, {}, {made.node.control()}).status();
}

TEST(Issue31Signatures, EveryOpRefusesOtherInputsAsItIsAdded) {
  int tried = 0;
  for (const auto& op : builtin_ops().all()) {
    for (const std::int64_t length : {0, 1, 2}) {
      const auto inputs = static_cast<int>(make(*op, length)->inputs.size());
      std::vector<std::unique_ptr<Made>> wrong;
      wrong.push_back(make(*op, length, 1));
      if (inputs > 0) wrong.push_back(make(*op, length, -1));
      for (int k = 0; k < inputs; ++k) wrong.push_back(make(*op, length, 0, k));
      for (const auto& made : wrong) {
        ++tried;
        EXPECT_FALSE(made->node.valid()) << op->name;
        EXPECT_FALSE(made->graph.status().ok()) << op->name;
      }
    }
  }
  EXPECT_GT(tried, 5000);
}

// Rewrites change nodes that are there already. Whatever they do wrong is told before a pass or a kernel believes it.
TEST(Issue31Signatures, EveryOpRefusesInputsThatARewriteGotWrong) {
  int tried = 0;
  for (const auto& op : builtin_ops().all()) {
    for (const std::int64_t length : {0, 1, 2}) {
      const auto inputs = static_cast<int>(make(*op, length)->inputs.size());
      for (int k = -1; k < inputs; ++k) {
        auto made = make(*op, length);
        if (!made->node.valid() || !made->graph.status().ok()) break;
        if (k < 0) {
          made->graph.add_input(made->node.node(), any(made->graph, DType::kFloat32).endpoint());
        } else {
          const DType is = made->inputs[static_cast<std::size_t>(k)];
          const DType other = is == DType::kComplex128 ? DType::kInt16 : DType::kComplex128;
          made->graph.set_input(made->node.node(), k, any(made->graph, other).endpoint());
        }
        ++tried;
        const Status status = run(*made);
        // What counts inputs itself, as shapes are inferred, says so first.
        const bool told = status.code() == Code::kInternal || status.code() == Code::kInvalidArgument;
        EXPECT_TRUE(told) << op->name << " input " << k << ": " << status.to_string();
        EXPECT_THAT(status.where(), HasSubstr(std::string(made->node.node_name())));
        EXPECT_THAT(status.message(), Not(HasSubstr("check failed")));
      }
    }
  }
  EXPECT_GT(tried, 1000);
}

}  // namespace
}  // namespace argosy
