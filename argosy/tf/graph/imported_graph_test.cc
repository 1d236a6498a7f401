#include "argosy/tf/graph/imported_graph.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "argosy/formats/proto/graph.pb.h"
#include "argosy/graph/text.h"

namespace argosy::tf {
namespace {

using ::testing::HasSubstr;

tensorflow::GraphDef parse(const std::string& text) {
  tensorflow::GraphDef def;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &def)) << text;
  return def;
}

// node("y", "Add", "x z", "T: float"): attributes in a notation of this test.
std::string node(const std::string& name, const std::string& op, const std::string& inputs,
                 const std::string& attrs = "") {
  std::string text = "node { name: '" + name + "' op: '" + op + "' ";
  for (const std::string& input : str_split(inputs, ' ')) {
    if (!input.empty()) text += "input: '" + input + "' ";
  }
  return text + attrs + " }\n";
}
std::string attr(const std::string& name, const std::string& value) {
  return " attr { key: '" + name + "' value { " + value + " } }";
}
const std::string kFloat = attr("T", "type: DT_FLOAT");
const std::string kVersions = "versions { producer: 2474 }\n";
std::string input(const std::string& name, const std::string& shape = "dim { size: 2 } dim { size: 3 }") {
  return node(name, "Placeholder", "", attr("dtype", "type: DT_FLOAT") + attr("shape", "shape { " + shape + " }"));
}
std::string constant(const std::string& name, float value) {
  return node(name, "Const", "",
              attr("dtype", "type: DT_FLOAT") +
                  attr("value", "tensor { dtype: DT_FLOAT tensor_shape { } float_val: " + str_cat(value) + " }"));
}

Status extend(ImportedGraph& graph, const std::string& text) { return graph.extend(parse(text + kVersions)); }

// The graph's text, comments left out.
std::string text(const Graph& graph) { return to_text(graph, {.shapes = false}); }

TEST(ImportedGraph, ConvertsWhatIsAskedFor) {
  ImportedGraph in;
  ASSERT_TRUE(
      extend(in, node("y", "MatMul", "x:0 w ^c", kFloat + attr("transpose_b", "b: true") + attr("grad_a", "b: true")) +
                     input("x") + input("w", "dim { size: 4 } dim { size: 3 }") + node("c", "NoOp", "") +
                     node("other", "NoSuchOp", "y", kFloat) + node("after", "Identity", "other", kFloat))
          .ok());
  EXPECT_EQ(in.num_nodes(), 6);
  const auto y = in.value("y");
  ASSERT_TRUE(y.ok()) << y.status().to_string();
  EXPECT_EQ(y->shape(), PartialShape({2, 4}));
  EXPECT_EQ(in.graph().size(), 4);
  EXPECT_FALSE(y->graph().node(y->node()).attrs.get_bool("transpose_a"));

  const auto after = in.value("after:0");
  ASSERT_FALSE(after.ok());
  EXPECT_EQ(after.status().code(), Code::kNotFound);
  EXPECT_THAT(after.status().message(), HasSubstr("Op type not registered 'NoSuchOp'"));
  EXPECT_THAT(after.status().where(), HasSubstr("node 'other' (NoSuchOp)"));
  EXPECT_TRUE(in.value("y").ok());
  EXPECT_EQ(in.convert_all().size(), 2u);
}

// Where a variable may live depends on all who use it, also those that no step has asked for yet.
TEST(ImportedGraph, UsersOfAHandleComeWithIt) {
  const std::string kInt = attr("T", "type: DT_INT64");
  const std::string text = node("v", "VariableV2", "", attr("dtype", "type: DT_INT64") + attr("shape", "shape { }")) +
                           node("zero", "Const", "",
                                attr("dtype", "type: DT_INT64") +
                                    attr("value", "tensor { dtype: DT_INT64 tensor_shape { } int64_val: 0 }")) +
                           node("set", "Assign", "v zero", kInt) + node("same", "Identity", "v", kInt) +
                           node("count", "CountUpTo", "v", kInt + attr("limit", "i: 3")) +
                           node("next", "Neg", "count", kInt) + node("odd", "NoSuchOp", "v", kInt) +
                           node("w", "VariableV2", "", attr("dtype", "type: DT_INT64") + attr("shape", "shape { }")) +
                           node("add", "AssignAdd", "w count", kInt) + node("clear", "Assign", "w zero", kInt);
  ImportedGraph later, at_once;
  at_once.convert_resource_users();
  for (ImportedGraph* in : {&later, &at_once}) {
    ASSERT_TRUE(extend(*in, text).ok());
    ASSERT_TRUE(in->value("^set").ok());
  }
  EXPECT_EQ(later.graph().size(), 3);  // v, zero, set
  EXPECT_TRUE(at_once.graph().find("count").has_value());
  EXPECT_FALSE(at_once.graph().find("next").has_value());  // it takes a number
  EXPECT_FALSE(at_once.graph().find("w").has_value());     // whom nobody has met
  ASSERT_TRUE(at_once.value("add").ok());
  EXPECT_TRUE(at_once.graph().find("clear").has_value());
  EXPECT_EQ(at_once.value("odd").status().code(), Code::kNotFound);
}

TEST(ImportedGraph, WhatIsFedNeedNotBeConvertible) {
  ImportedGraph in;
  ASSERT_TRUE(extend(in, input("x") + node("odd", "NoSuchOp", "x", kFloat) + node("far", "Neg", "odd:1", kFloat) +
                             node("near", "Mul", "odd odd:1", kFloat) + node("last", "Neg", "far", kFloat) +
                             node("unused", "NoSuchOp", "x", kFloat))
                  .ok());
  EXPECT_EQ(in.value("near").status().code(), Code::kNotFound);
  EXPECT_EQ(in.value("last").status().code(), Code::kNotFound);

  // A node that is known, behind one that is not.
  const auto far = in.value_to_feed("far:0");
  ASSERT_TRUE(far.ok()) << far.status().to_string();
  EXPECT_EQ(far->dtype(), DType::kFloat32);
  EXPECT_EQ(in.graph().node(far->node()).name, "far");
  EXPECT_TRUE(in.value("last").ok());
  EXPECT_EQ(in.value("near").status().code(), Code::kNotFound) << "what it takes is not fed";

  // Outputs of the unknown node itself: one is not enough for a node that takes both.
  const auto second = in.value_to_feed("odd:1");
  ASSERT_TRUE(second.ok()) << second.status().to_string();
  EXPECT_EQ(in.value("near").status().code(), Code::kNotFound);
  const auto first = in.value_to_feed("odd");
  ASSERT_TRUE(first.ok()) << first.status().to_string();
  EXPECT_TRUE(in.value("near").ok());
  EXPECT_EQ(in.value_to_feed("odd:0")->node(), first->node()) << "one stand-in, however often";
  EXPECT_EQ(in.graph().node(first->node()).attrs.get_string("message"), "Op type not registered 'NoSuchOp'");
  EXPECT_EQ(in.value("odd").status().code(), Code::kNotFound) << "itself it cannot be fetched";
  EXPECT_EQ(in.value_to_feed("unused").status().code(), Code::kNotFound) << "nobody says what it would be";
  EXPECT_EQ(in.value_to_feed("none").status().code(), Code::kNotFound);
}

// p ── Switch ──┬─ false: Neg ─────────────────────┐
// x ──┘         └─ true: NoSuchOp ── NoSuchOp2 ── Merge ── y
TEST(ImportedGraph, AnUnknownOpOnABranchStandsThere) {
  ImportedGraph in;
  ASSERT_TRUE(extend(in, input("x") + node("p", "Placeholder", "", attr("dtype", "type: DT_BOOL")) +
                             node("s", "Switch", "x p", kFloat) + node("no", "Neg", "s", kFloat) +
                             node("odd", "NoSuchOp", "s:1") + node("odd2", "NoSuchOp2", "odd:3 ^no") +
                             node("m", "Merge", "no odd2:1", kFloat + attr("N", "i: 2")) +
                             node("y", "Identity", "m", kFloat) + node("after", "NoSuchOp", "x", kFloat) +
                             node("z", "Identity", "after", kFloat))
                  .ok());
  const auto y = in.value("y");
  ASSERT_TRUE(y.ok()) << y.status().to_string();
  EXPECT_EQ(text(in.graph()), R"(x = Placeholder [dtype=float, shape=shape[2,3]]
p = Placeholder [dtype=bool]
s = Switch(x, p) [T=float]
no = Neg(s) [T=float]
odd/_input = Identity(s:1) [T=float]
odd/_done = _Missing(^odd/_input) [code=5, dtype=bool, message="Op type not registered 'NoSuchOp'"]
odd2/_1 = _Missing(^no, ^odd/_done) [code=5, dtype=float, message="Op type not registered 'NoSuchOp2'"]
m = Merge(no, odd2/_1) [N=2, T=float]
y = Identity(m) [T=float]
)");
  EXPECT_EQ(in.value("odd2:1").status().code(), Code::kNotFound) << "itself it cannot be fetched";
  EXPECT_EQ(in.value("z").status().code(), Code::kNotFound) << "every step gets there";
  const auto failures = in.convert_all();
  EXPECT_EQ(failures.size(), 4u) << "odd, odd2, after, z";
}

TEST(ImportedGraph, AnUnknownOpInABranchOfAnIf) {
  const auto branch = [](const std::string& name, const std::string& op) {
    return "function { signature { name: '" + name +
           "' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_FLOAT } } node_def { name: 'n' "
           "op: '" +
           op + "' input: 'x' } ret { key: 'y' value: 'n:y:0' } }\n";
  };
  const auto choose = [&](const std::string& other) {
    const std::string types = "list { type: DT_FLOAT }";
    return node("c_" + other, "StatelessIf", "p x",
                attr("Tcond", "type: DT_BOOL") + attr("Tin", types) + attr("Tout", types) +
                    attr("then_branch", "func { name: '" + other + "' }") +
                    attr("else_branch", "func { name: '" + other + "' }"));
  };
  ImportedGraph in;
  ASSERT_TRUE(extend(in, input("x") + node("p", "Placeholder", "", attr("dtype", "type: DT_BOOL")) + choose("odd") +
                             choose("calls") +
                             node("plain", "PartitionedCall", "x",
                                  attr("Tin", "list { type: DT_FLOAT }") + attr("Tout", "list { type: DT_FLOAT }") +
                                      attr("f", "func { name: 'odd' }")) +
                             "library { " + branch("odd", "NoSuchOp") + branch("calls", "odd") + " }")
                  .ok());
  EXPECT_TRUE(in.value("c_odd").ok()) << in.value("c_odd").status().to_string();
  EXPECT_TRUE(in.value("c_calls").ok()) << in.value("c_calls").status().to_string();
  EXPECT_EQ(in.value("plain").status().code(), Code::kNotFound) << "every step gets there";
}

TEST(ImportedGraph, ExtendsAndRollsBack) {
  ImportedGraph in;
  ASSERT_TRUE(extend(in, input("x")).ok());
  ASSERT_TRUE(in.value("x").ok());
  const Status bad = extend(in, node("a", "Neg", "x", kFloat) + node("b", "Neg", "nothing", kFloat));
  EXPECT_EQ(bad.code(), Code::kInvalidArgument);
  EXPECT_THAT(bad.message(), HasSubstr("Node 'b': Unknown input node 'nothing'"));
  EXPECT_FALSE(in.has("a"));
  EXPECT_TRUE(in.has("x"));
  ASSERT_TRUE(extend(in, node("a", "Neg", "x", kFloat)).ok());
  EXPECT_TRUE(in.value("a").ok());
  EXPECT_EQ(extend(in, node("a", "Neg", "x", kFloat)).code(), Code::kInvalidArgument);
  EXPECT_TRUE(in.value("a").ok());
}

TEST(ImportedGraph, RefusesMalformedGraphs) {
  const std::string x = input("x");
  const std::pair<std::string, std::string> cases[] = {
      {node("a b", "NoOp", ""), "invalid characters"},
      {node("", "NoOp", ""), "invalid characters"},
      {node("_a", "NoOp", ""), "invalid characters"},
      {x + x, "not unique"},
      {x + node("y", "Neg", "x:01", kFloat), "malformed"},
      {x + node("y", "Neg", "x:-1", kFloat), "malformed"},
      {x + node("y", "Neg", "x:99999999999999999999", kFloat), "malformed"},
      {x + node("y", "Neg", "^x x", kFloat), "Control dependencies must come after"},
      {x + "versions { min_consumer: 99999999 }", "above current version"},
      {x + "versions { bad_consumers: 2474 }", "disallows consumer"},
      {x + "library { function { signature { name: 'Neg' } } }", "same name"},
  };
  for (const auto& [text, what] : cases) {
    ImportedGraph in;
    const Status status = in.extend(parse(text));
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << text;
    EXPECT_THAT(status.message(), HasSubstr(what)) << text;
    EXPECT_EQ(in.num_nodes(), 0);
  }
  ImportedGraph in;
  EXPECT_EQ(in.extend("no protobuf at all").code(), Code::kInvalidArgument);
}

TEST(ImportedGraph, ErrorsOfNodesAreToldToWhoReachesThem) {
  const std::string x = input("x");
  const std::pair<std::string, std::string> cases[] = {
      {node("y", "MatMul", "x x", kFloat), "node 'y' (MatMul)"},  // [2,3] x [2,3]
      {node("y", "Neg", "x", attr("T", "i: 3")), "attribute T is a int, not a type"},
      {node("y", "Neg", "x", attr("T", "type: DT_INT32")), "node 'y' (Neg)"},
      {node("y", "Neg", "x:1", kFloat), "Connecting to invalid output 1 of source node x which has 1 outputs"},
      {node("y", "Add", "x", kFloat), "takes 2 inputs"},
      {node("y", "Identity", "x", kFloat + attr("_output_shapes", "list { shape { dim { size: 7 } } }")),
       "_output_shapes"},
      {node("y", "Neg", "z", kFloat) + node("z", "Neg", "y", kFloat), "cycle"},
      {node("y", "Const", "",
            attr("dtype", "type: DT_FLOAT") +
                attr("value", "tensor { dtype: DT_FLOAT tensor_shape { dim { size: 1000000000000 } } float_val: 1 }")),
       "exceeds"},
      {node("y", "Identity", "x", attr("T", "type: 24")), "type number 24"},
  };
  for (const auto& [text, what] : cases) {
    ImportedGraph in;
    ASSERT_TRUE(extend(in, x + text + node("fine", "Neg", "x", kFloat)).ok()) << text;
    const auto y = in.value("y");
    ASSERT_FALSE(y.ok()) << text;
    EXPECT_THAT(y.status().to_string(), HasSubstr(what)) << text;
    EXPECT_TRUE(in.value("fine").ok()) << text;
  }
}

TEST(ImportedGraph, NamesOutputs) {
  ImportedGraph in;
  ASSERT_TRUE(extend(in, input("x") + node("none", "NoOp", "")).ok());
  EXPECT_EQ(in.value("none")->index(), Value::kControl);
  EXPECT_EQ(in.value("^x")->index(), Value::kControl);
  EXPECT_EQ(in.value("x:0")->index(), 0);
  EXPECT_EQ(in.value("x:1").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(in.value("none:0").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(in.value("y").status().code(), Code::kNotFound);
  EXPECT_EQ(in.value("^").status().code(), Code::kInvalidArgument);
}

TEST(ImportedGraph, LoopsInAnyOrder) {
  const std::string nodes = constant("start", 1) +
                            node("enter", "Enter", "start", kFloat + attr("frame_name", "s: 'w'")) +
                            node("exit", "Exit", "switch", kFloat) + node("next", "NextIteration", "more", kFloat) +
                            node("merge", "Merge", "next enter:0", kFloat + attr("N", "i: 2")) +
                            node("switch", "Switch", "merge go", kFloat) + node("more", "Neg", "switch:1", kFloat) +
                            node("go", "LoopCond", "test") + node("test", "Less", "merge merge", kFloat);
  ImportedGraph in;
  ASSERT_TRUE(extend(in, nodes).ok());
  const auto exit = in.value("exit");
  ASSERT_TRUE(exit.ok()) << exit.status().to_string();
  EXPECT_EQ(in.graph().size(), 9);
  const Node& merge = in.graph().node(*in.graph().find("merge"));
  ASSERT_EQ(merge.inputs.size(), 2u);
  EXPECT_EQ(in.graph().node(merge.inputs[0].node).name, "next");
  EXPECT_EQ(in.graph().node(merge.inputs[1].node).name, "enter");
  EXPECT_TRUE(in.graph().topological_order().ok());
}

TEST(ImportedGraph, LoopThatCannotBeClosed) {
  ImportedGraph in;
  const std::string nodes = constant("start", 1) +
                            node("enter", "Enter", "start", kFloat + attr("frame_name", "s: 'w'")) +
                            node("merge", "Merge", "enter next", kFloat + attr("N", "i: 2")) +
                            node("test", "Less", "merge merge", kFloat) + node("go", "LoopCond", "test") +
                            node("switch", "Switch", "merge go", kFloat) + node("exit", "Exit", "switch", kFloat) +
                            node("more", "MatMul", "switch:1", kFloat) + node("next", "NextIteration", "more", kFloat);
  ASSERT_TRUE(extend(in, nodes).ok());
  for (const char* name : {"exit", "exit", "merge", "test"}) {
    const auto value = in.value(name);
    ASSERT_FALSE(value.ok()) << name;
    EXPECT_THAT(value.status().to_string(), HasSubstr("'more' (MatMul)")) << name;
  }
  EXPECT_TRUE(in.value("enter").ok());
}

// The last node first, 200,000 deep: nothing may recurse.
TEST(ImportedGraph, DeepGraphs) {
  constexpr int kDepth = 200000;
  tensorflow::GraphDef def;
  for (int i = kDepth; i >= 0; --i) {
    tensorflow::NodeDef* n = def.add_node();
    n->set_name(str_cat("n", i));
    n->set_op(i == 0 ? "Placeholder" : "Neg");
    (*n->mutable_attr())[i == 0 ? "dtype" : "T"].set_type(tensorflow::DT_FLOAT);
    if (i > 0) n->add_input(str_cat("n", i - 1));
  }
  ImportedGraph in;
  ASSERT_TRUE(in.extend(std::move(def)).ok());
  EXPECT_TRUE(in.value(str_cat("n", kDepth)).ok());
  EXPECT_EQ(in.graph().size(), kDepth + 1);
}

// What came goes out again: attributes that we do not know, values that were taken over, versions.
TEST(ImportedGraph, WritesWhatCame) {
  ImportedGraph in;
  const std::string text =
      constant("c", 2.5) +
      node("y", "Neg", "c:0 ^c", kFloat + attr("odd", "i: 3") + attr("_func", "func { name: 'f' }")) +
      node("z", "NoSuchOp", "y") + "versions { producer: 1234 min_consumer: 7 bad_consumers: 9 }" +
      "library { function { signature { name: 'f' } } gradient { function_name: 'f' gradient_func: 'f' } }";
  ASSERT_TRUE(in.extend(parse(text)).ok());
  EXPECT_EQ(in.convert_all().size(), 1u);
  tensorflow::GraphDef out;
  ASSERT_TRUE(in.write(&out).ok());
  const tensorflow::GraphDef came = parse(text);
  EXPECT_EQ(out.node(0).attr().at("value").tensor().tensor_content().size(), 4u);
  *out.mutable_node(0) = came.node(0);  // bytes instead of a list of numbers
  std::string difference;
  google::protobuf::util::MessageDifferencer compare;
  compare.ReportDifferencesToString(&difference);
  EXPECT_TRUE(compare.Compare(came, out)) << difference;
}

constexpr const char* kSquare = R"(
  library { function {
    signature { name: 'square' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_FLOAT } }
    node_def { name: 'm' op: 'Mul' input: 'x' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } }
    ret { key: 'y' value: 'm:z:0' } } }
)";

TEST(ImportedGraph, Functions) {
  ImportedGraph in;
  ASSERT_TRUE(extend(in, input("x") + node("y", "square", "x") +
                             node("z", "PartitionedCall", "y:0",
                                  attr("Tin", "list { type: DT_FLOAT }") + attr("Tout", "list { type: DT_FLOAT }") +
                                      attr("f", "func { name: 'square' }")) +
                             node("d", "SymbolicGradient", "x z",
                                  attr("Tin", "list { type: [DT_FLOAT, DT_FLOAT] }") +
                                      attr("Tout", "list { type: DT_FLOAT }") + attr("f", "func { name: 'square' }")) +
                             kSquare)
                  .ok());
  ASSERT_TRUE(extend(in, kSquare).ok());  // the same again
  for (const char* name : {"y", "z", "d"}) {
    const auto value = in.value(name);
    ASSERT_TRUE(value.ok()) << value.status().to_string();
  }
  EXPECT_NE(in.graph().function("square"), nullptr);
  EXPECT_NE(in.graph().function("square_gradient"), nullptr);
  EXPECT_EQ(in.graph().function("square_gradient")->args.size(), 2u);
  EXPECT_THAT(text(in.graph()), HasSubstr("function square(x) -> (m)"));

  std::string other = kSquare;
  other.replace(other.find("Mul"), 3, "Add");
  EXPECT_EQ(extend(in, other).code(), Code::kInvalidArgument);
}

TEST(ImportedGraph, FunctionsWithAttributes) {
  ImportedGraph in;
  ASSERT_TRUE(extend(in, input("x") + node("y", "twice", "x x", attr("U", "type: DT_FLOAT") + attr("K", "i: 2")) +
                             node("z", "twice", "x", attr("U", "type: DT_FLOAT") + attr("K", "i: 1")) + R"(
    library { function {
      signature { name: 'twice' input_arg { name: 'x' type_attr: 'U' number_attr: 'K' }
                  output_arg { name: 'y' type_attr: 'U' }
                  attr { name: 'U' type: 'type' } attr { name: 'K' type: 'int' } }
      node_def { name: 's' op: 'AddN' input: 'x' attr { key: 'T' value { placeholder: 'U' } }
                 attr { key: 'N' value { placeholder: 'K' } } }
      ret { key: 'y' value: 's:sum:0' } } })")
                  .ok());
  const auto y = in.value("y");
  ASSERT_TRUE(y.ok()) << y.status().to_string();
  ASSERT_TRUE(in.value("z").ok()) << in.value("z").status().to_string();
  EXPECT_EQ(y->dtype(), DType::kFloat32);
  EXPECT_EQ(in.graph().functions().size(), 2u);
}

TEST(ImportedGraph, FunctionsThatCannotBeMade) {
  const auto call = [](const std::string& function) {
    return node("c_" + function, "PartitionedCall", "x",
                attr("Tin", "list { type: DT_FLOAT }") + attr("Tout", "list { type: DT_FLOAT }") +
                    attr("f", "func { name: '" + function + "' }"));
  };
  const auto function = [](const std::string& name, const std::string& body) {
    return "function { signature { name: '" + name +
           "' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_FLOAT } } " + body +
           " ret { key: 'y' value: 'n:y:0' } }\n";
  };
  ImportedGraph in;
  ASSERT_TRUE(extend(in, input("x") + call("ring") + call("loop") + call("missing") + call("uses") + call("nowhere") +
                             "library { " + function("ring", "node_def { name: 'n' op: 'loop' input: 'x' }") +
                             function("loop", "node_def { name: 'n' op: 'ring' input: 'x' }") +
                             function("missing", "node_def { name: 'n' op: 'NoSuchOp' input: 'x' }") +
                             function("uses", "node_def { name: 'n' op: 'missing' input: 'x' }") + " }")
                  .ok());
  const std::pair<const char*, const char*> cases[] = {
      {"c_ring", "recursive functions are not supported"}, {"c_loop", "recursive functions are not supported"},
      {"c_missing", "Op type not registered 'NoSuchOp'"},  {"c_uses", "Op type not registered 'NoSuchOp'"},
      {"c_nowhere", "there is no function \"nowhere\""},
  };
  for (const auto& [name, what] : cases) {
    const auto value = in.value(name);
    ASSERT_FALSE(value.ok()) << name;
    EXPECT_THAT(value.status().to_string(), HasSubstr(what)) << name;
    EXPECT_THAT(value.status().where(), HasSubstr(name));
  }
  EXPECT_TRUE(in.value("x").ok());
}

}  // namespace
}  // namespace argosy::tf
