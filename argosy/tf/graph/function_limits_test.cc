// A few bytes that ask for more functions than any memory holds, and imports that somebody ends.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <thread>

#include "argosy/base/clock.h"
#include "argosy/base/guard.h"
#include "argosy/base/threads/interrupt.h"
#include "argosy/formats/proto/graph.pb.h"
#include "argosy/tf/graph/imported_graph.h"

namespace argosy::tf::function_limits {
namespace {

using testing::HasSubstr;

std::string attr(const std::string& name, const std::string& value) {
  return " attr { key: '" + name + "' value { " + value + " } }";
}
const std::string kFloat = attr("T", "type: DT_FLOAT");
// Of a graph; in a body it is a "node_def".
std::string node(const std::string& name, const std::string& op, const std::vector<std::string>& inputs,
                 const std::string& attrs, const std::string& field = "node") {
  std::string text = field + " { name: '" + name + "' op: '" + op + "'";
  for (const std::string& input : inputs) text += " input: '" + input + "'";
  return text + attrs + " }\n";
}
std::string inner(const std::string& name, const std::string& op, const std::vector<std::string>& inputs,
                  const std::string& attrs = kFloat) {
  return node(name, op, inputs, attrs, "node_def");
}
// One float in, one float out. `attrs`: names of its attributes, all of this type.
std::string function(const std::string& name, const std::string& body, const std::string& returned,
                     const std::vector<std::string>& attrs = {}, const std::string& type = "int") {
  std::string text = "function { signature { name: '" + name +
                     "' input_arg { name: 'a' type: DT_FLOAT } output_arg { name: 'r' type: DT_FLOAT }";
  for (const std::string& one : attrs) text += " attr { name: '" + one + "' type: '" + type + "' }";
  return text + " }\n" + body + " ret { key: 'r' value: '" + returned + "' } }\n";
}
const std::string kInput = node("x", "Placeholder", {}, attr("dtype", "type: DT_FLOAT") + attr("shape", "shape { }"));
std::string call(const std::string& name, const std::string& callee, const std::string& input,
                 const std::string& field = "node") {
  return node(name, "PartitionedCall", {input},
              attr("Tin", "list { type: DT_FLOAT }") + attr("Tout", "list { type: DT_FLOAT }") +
                  attr("f", "func { name: '" + callee + "' }"),
              field);
}
std::string gradient(const std::string& name, const std::string& of, const std::string& x, const std::string& dy,
                     const std::string& field = "node") {
  return node(name, "SymbolicGradient", {x, dy},
              attr("Tin", "list { type: [DT_FLOAT, DT_FLOAT] }") + attr("Tout", "list { type: DT_FLOAT }") +
                  attr("f", "func { name: '" + of + "' }"),
              field);
}
std::vector<std::string> bits(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(str_cat("A", i));
  return names;
}
std::string ints(const std::vector<std::string>& names, int value) {
  std::string text;
  for (const std::string& name : names) text += attr(name, str_cat("i: ", value));
  return text;
}

void extend(ImportedGraph& graph, const std::string& text) {
  tensorflow::GraphDef def;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(text + "versions { producer: 2474 }", &def)) << text;
  const Status added = graph.extend(std::move(def));
  ASSERT_TRUE(added.ok()) << added.to_string();
}
// f0 calls f1 twice, each with one more attribute set, and so on: 2^levels functions. Each has `more` nodes beside.
std::string levels_graph(int levels, int more = 0) {
  const std::vector<std::string> names = bits(levels);
  std::string text = kInput + node("y", "f0", {"x"}, ints(names, 0)) + "library {\n";
  for (int k = 0; k < levels; ++k) {
    const auto next = [&](const std::string& name, int bit) {
      std::string attrs;
      for (int i = 0; i < levels; ++i) {
        attrs += attr(names[i], i == k ? str_cat("i: ", bit) : "placeholder: '" + names[i] + "'");
      }
      return inner(name, str_cat("f", k + 1), {"a"}, attrs);
    };
    std::string body = next("q", 0) + next("w", 1) + inner("m0", "AddV2", {"q:r:0", "w:r:0"});
    for (int i = 0; i < more; ++i) {
      body += inner(str_cat("m", i + 1), "Neg", {str_cat("m", i, i == 0 ? ":z:0" : ":y:0")});
    }
    text += function(str_cat("f", k), body, str_cat("m", more, more == 0 ? ":z:0" : ":y:0"), names);
  }
  return text + function(str_cat("f", levels), inner("i", "Identity", {"a"}), "i:output:0", names) + "}\n";
}

TEST(FunctionLimits, RecursionWithOtherAttributesIsToldAtOnce) {
  constexpr int kBits = 40;
  const std::vector<std::string> names = bits(kBits);
  const auto next = [&](const std::string& name, int bit) {
    std::string attrs;
    for (int i = 0; i < kBits; ++i) {
      attrs += attr(names[i], i + 1 < kBits ? "placeholder: '" + names[i + 1] + "'" : str_cat("i: ", bit));
    }
    return inner(name, "f", {"a"}, attrs);
  };
  ImportedGraph in;
  extend(in, kInput + node("y", "f", {"x"}, ints(names, 2)) + "library {\n" +
                 function("f", next("q", 0) + next("w", 1) + inner("s", "AddV2", {"q:r:0", "w:r:0"}), "s:z:0", names) +
                 "}\n");
  const auto y = in.value("y");
  EXPECT_EQ(y.status().id(), "ARG-FN-009") << y.status().to_string();
  EXPECT_THAT(y.status().to_string(), HasSubstr("function \"f\" calls itself with other attributes"));
  EXPECT_LE(in.graph().functions().size(), 2u);
  EXPECT_TRUE(in.value("x").ok());
}

TEST(FunctionLimits, TooManyFunctionsAreCounted) {
  ImportedGraph in;
  extend(in, levels_graph(22));
  const auto y = in.value("y");
  EXPECT_EQ(y.status().code(), Code::kResourceExhausted);
  EXPECT_EQ(y.status().id(), "ARG-FN-007") << y.status().to_string();
  EXPECT_THAT(y.status().to_string(), HasSubstr("more than 10000 different sets of attributes"));
  EXPECT_LE(in.graph().functions().size(), 10'001u);
}

TEST(FunctionLimits, SomeThousandFunctionsAreFine) {
  ImportedGraph in;
  extend(in, levels_graph(12));
  const auto y = in.value("y");
  ASSERT_TRUE(y.ok()) << y.status().to_string();
  EXPECT_EQ(in.graph().functions().size(), 8191u);
}

// Each set of values has a copy of them.
TEST(FunctionLimits, LongAttributesAreRefused) {
  ImportedGraph in;
  const auto text = [](std::size_t bytes) { return attr("A", "s: '" + std::string(bytes, 's') + "'"); };
  extend(in, kInput + node("y", "f", {"x"}, text(300'000)) + node("z", "f", {"x"}, text(100'000)) + "library {\n" +
                 function("f", inner("i", "Identity", {"a"}), "i:output:0", {"A"}, "string") + "}\n");
  const auto y = in.value("y");
  EXPECT_EQ(y.status().id(), "ARG-FN-007") << y.status().to_string();
  EXPECT_THAT(y.status().to_string(), HasSubstr("bytes; 262144 are allowed"));
  EXPECT_TRUE(in.value("z").ok());
}

TEST(FunctionLimits, GradientsOfFunctionsThatDoubleAreRefused) {
  std::string text = kInput + gradient("y", "f0", "x", "x") + "library {\n";
  for (int i = 0; i < 50; ++i) {
    text += function(str_cat("f", i),
                     call("q", str_cat("f", i + 1), "a", "node_def") +
                         call("w", str_cat("f", i + 1), "q:output:0", "node_def") +
                         inner("s", "Mul", {"q:output:0", "w:output:0"}),
                     "s:z:0");
  }
  ImportedGraph in;
  extend(in, text + function("f50", inner("e", "Exp", {"a"}), "e:y:0") + "}\n");
  const auto y = in.value("y");
  EXPECT_EQ(y.status().id(), "ARG-FN-007") << y.status().to_string();
  EXPECT_THAT(y.status().to_string(), HasSubstr("more than 131072 nodes"));
}

TEST(FunctionLimits, GradientsOfGradientsAreRefusedWhenTheyGrow) {
  std::string text =
      kInput + call("y", "f29", "x") + "library {\n" +
      function("f0", inner("e", "Exp", {"a"}) + inner("t", "Tanh", {"e:y:0"}) + inner("m", "Mul", {"t:y:0", "e:y:0"}),
               "m:z:0");
  const std::string one = inner(
      "o", "Const", {},
      attr("dtype", "type: DT_FLOAT") + attr("value", "tensor { dtype: DT_FLOAT tensor_shape { } float_val: 1 }"));
  for (int i = 1; i < 30; ++i) {
    text += function(str_cat("f", i), one + gradient("q", str_cat("f", i - 1), "a", "o:output:0", "node_def"),
                     "q:output:0");
  }
  ImportedGraph in;
  extend(in, text + "}\n");
  const auto y = in.value("y");
  EXPECT_EQ(y.status().id(), "ARG-FN-007") << y.status().to_string();
}

// An import that ends early is as one that was not asked for: the next one goes on.
TEST(FunctionLimits, AnImportIsInterruptedAndGoesOnLater) {
  ImportedGraph in;
  std::string text = levels_graph(8);
  std::string before = "x";
  for (int i = 0; i < 1000; ++i) {
    const std::string name = str_cat("n", i);
    text += node(name, "Neg", {before}, kFloat);
    before = name;
  }
  extend(in, text);
  Cancellation over;
  over.cancel(deadline_exceeded("too late"));
  const auto interrupted = [&](const std::string& name) {
    const InterruptScope scope(&over, false);
    return guarded([&] { return in.value(name); }).status();
  };
  EXPECT_EQ(interrupted("y").code(), Code::kDeadlineExceeded);
  EXPECT_EQ(interrupted("n999").code(), Code::kDeadlineExceeded);
  EXPECT_TRUE(in.graph().functions().empty());
  for (const char* const name : {"y", "n999"}) {
    const auto value = in.value(name);
    EXPECT_TRUE(value.ok()) << name << ": " << value.status().to_string();
  }
  EXPECT_EQ(in.graph().functions().size(), 511u);
}

TEST(FunctionLimits, ALongImportEndsWithItsDeadline) {
  ImportedGraph in;
  extend(in, levels_graph(22, 50));
  Cancellation over;
  std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    over.cancel(deadline_exceeded("too late"));
  });
  Status ended;
  {
    const InterruptScope scope(&over, false);
    ended = guarded([&] { return in.value("y"); }).status();
  }
  EXPECT_EQ(ended.code(), Code::kDeadlineExceeded) << ended.to_string();
  EXPECT_LT(in.graph().functions().size(), 10'000u);
}

TEST(FunctionLimits, ExtendEndsWithItsDeadlineAndAddsNothing) {
  std::string text = kInput;
  for (int i = 0; i < 3000; ++i) text += node(str_cat("n", i), "Neg", {"x"}, kFloat);
  tensorflow::GraphDef def;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &def));
  ImportedGraph in;
  Cancellation over;
  over.cancel(deadline_exceeded("too late"));
  {
    const InterruptScope scope(&over, false);
    EXPECT_EQ(in.extend(tensorflow::GraphDef(def)).code(), Code::kDeadlineExceeded);
  }
  EXPECT_EQ(in.num_nodes(), 0);
  EXPECT_FALSE(in.has("x"));
  EXPECT_TRUE(in.extend(std::move(def)).ok());
  EXPECT_TRUE(in.value("n2999").ok());
}

TEST(FunctionLimits, AnArgumentAmongTheNodesOfABodyIsNamed) {
  ImportedGraph in;
  extend(in, kInput + call("y", "f", "x") + "library {\n" +
                 function("f", inner("p", "_Arg", {}, kFloat + attr("index", "i: 0")), "p:output:0") + "}\n");
  const auto y = in.value("y");
  EXPECT_EQ(y.status().id(), "ARG-FEED-001") << y.status().to_string();
  EXPECT_THAT(y.status().to_string(), HasSubstr("'p'"));
}

}  // namespace
}  // namespace argosy::tf::function_limits
