#include "argosy/graph/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "argosy/graph/text_values.h"
#include "argosy/op/definition/shape_context.h"

namespace argosy {
namespace {

using testing::HasSubstr;

OpRegistry toy_ops() {
  OpRegistry ops;
  const auto add = [&](std::string name, std::vector<std::string> in, std::vector<std::string> out,
                       std::vector<std::string> attrs, ShapeFn shape = unknown_output, bool closes_loop = false) {
    ops.add({.name = std::move(name),
             .doc = "",
             .inputs = std::move(in),
             .outputs = std::move(out),
             .attrs = std::move(attrs),
             .shape = shape,
             .gradient = kNotDifferentiable,
             .closes_loop = closes_loop});
  };
  add("Const", {}, {"y: dtype"}, {"value: tensor", "dtype: type"});
  add("_Arg", {}, {"y: T"}, {"T: type", "index: int"});
  add("Add", {"x: T", "y: T"}, {"z: T"}, {"T: type"}, broadcast_inputs);
  add("Split", {"x: T"}, {"parts: N * T"}, {"T: type", "N: int >= 1"});
  add("Wait", {}, {}, {});
  add("Call", {"xs: Tin"}, {"ys: Tout"}, {"Tin: list(type)", "Tout: list(type)", "f: func"});
  add("Variable", {}, {"ref: Ref(dtype)"}, {"dtype: type"});
  add("Assign", {"ref: Ref(T)", "value: T"}, {"out: Ref(T)"}, {"T: type"});
  add("Next", {"x: T"}, {"y: T"}, {"T: type"}, same_as_input, true);
  add("Pick", {"xs: N * T"}, {"y: T"}, {"T: type", "N: int"});
  add("Conf", {}, {},
      {"i: int = 7", "f: float = 0.5", "b: bool = false", "s: string = 'SAME'", "shape: shape = unknown",
       "ints: list(int) = []", "floats: list(float) = []", "bools: list(bool) = []", "names: list(string) = []",
       "types: list(type) = []", "shapes: list(shape) = []", "fn: func", "fns: list(func)"});
  return ops;
}

std::string round_trip(const OpRegistry& ops, const std::string& text) {
  const auto graph = parse_text(text, ops);
  return graph.ok() ? to_text(*graph, {.shapes = false}) : graph.status().to_string();
}

TEST(GraphText, PrintsAndReadsBack) {
  const OpRegistry ops = toy_ops();
  const std::string text =
      "a = Const [dtype=float, value=float[2] {1, -0.5}]\n"
      "dense/b = Add(a, a) [T=float] @/device:GPU:0\n"
      "parts = Split(dense/b, ^a) [N=3, T=float]\n"
      "c = Add(parts, parts:2) [T=float]\n"
      "wait = Wait(^parts, ^c)\n"
      "v = Variable [dtype=float] @/job:ps;/gpu:1\n"
      "set = Assign(v, c) [T=float, _class=[\"loc:@v\"]]\n";
  // Attributes print sorted: "T" before "_class".
  EXPECT_EQ(round_trip(ops, text), text);
}

TEST(GraphText, EveryKindOfAttribute) {
  const OpRegistry ops = toy_ops();
  const std::string text =
      "c = Conf [b=true, bools=[true, false], f=2.0, floats=[1.0, inf, nan], fn=@body, fns=[@a, @\"odd name\"], i=-1, "
      "ints=[1, 2], names=[\"q\\\"\\\\\\n\\x00\", \"\"], s=\"a#b\", shape=shape[?,3], shapes=[shape[], "
      "shape<unknown>], types=[float, half]]\n";
  EXPECT_EQ(round_trip(ops, text), text);
  EXPECT_EQ(round_trip(ops, "c = Conf [fn=@x, fns=[], f=3, floats=[1, 2]]\n"),
            "c = Conf [f=3.0, floats=[1.0, 2.0], fn=@x, fns=[]]\n");
}

TEST(GraphText, BytesThatAreNoUtf8AreEscaped) {
  const OpRegistry ops = toy_ops();
  // A character each of two, three and four bytes stay; lone, cut off, overlong, surrogate and too large ones do not.
  EXPECT_EQ(text::quote("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"), "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"");
  EXPECT_EQ(text::quote("\x89PNG"), "\"\\x89PNG\"");
  EXPECT_EQ(text::quote("a\xe2\x82"), "\"a\\xe2\\x82\"");
  EXPECT_EQ(text::quote("\xc0\xaf"), "\"\\xc0\\xaf\"");
  EXPECT_EQ(text::quote("\xed\xa0\x80"), "\"\\xed\\xa0\\x80\"");
  EXPECT_EQ(text::quote("\xf4\x90\x80\x80"), "\"\\xf4\\x90\\x80\\x80\"");
  const std::string text = "c = Conf [fn=@x, fns=[], s=\"\\xff\\xfe\xc3\xa9\"]\n";
  EXPECT_EQ(round_trip(ops, text), text);
}

TEST(GraphText, TensorsOfEveryDtype) {
  const OpRegistry ops = toy_ops();
  Graph g(ops);
  const auto add = [&](Tensor t) {
    const DType dtype = t.dtype();
    g.add("Const", {}, {{"value", std::move(t)}, {"dtype", dtype}});
  };
  add(Tensor::vector<float>({0.1f, -0.0f, 3e38f, 1e-45f, std::numeric_limits<float>::infinity()}));
  add(Tensor::vector<double>({0.1, 1.0 / 3, std::nan("")}));
  add(Tensor::vector<bfloat16>({bfloat16(1.5f), bfloat16(3e38f)}));
  add(Tensor::vector<float16>({float16(0.1f), float16(6e-8f)}));
  add(Tensor::vector<std::int8_t>({-128, 127}));
  add(Tensor::vector<std::uint64_t>({~std::uint64_t{0}}));
  add(Tensor::vector<std::int64_t>({std::numeric_limits<std::int64_t>::min()}));
  add(Tensor::of<bool>({2, 1}, {true, false}));
  add(Tensor::vector<std::complex<float>>({{1, -2.5f}}));
  add(Tensor::vector<std::string>({"", "line\nbreak \"x\" \x01"}));
  add(Tensor::of<float>({0, 3}, {}));
  const std::string text = to_text(g);
  const auto back = parse_text(text, ops);
  ASSERT_TRUE(back.ok()) << back.status().to_string() << "\n" << text;
  EXPECT_EQ(to_text(*back), text);
  for (int i = 0; i < g.size(); ++i) {
    if (i == 1) continue;  // holds NaN, which equals nothing but its own bits
    EXPECT_TRUE(g.node({i}).attrs == back->node({i}).attrs) << i;
  }
}

TEST(GraphText, LongTensorsAreCutAndSayso) {
  const OpRegistry ops = toy_ops();
  Graph g(ops);
  g.add("Const", {}, {{"value", Tensor::vector<float>({1, 2, 3})}, {"dtype", DType::kFloat32}});
  const std::string text = to_text(g, {.max_values = 2});
  EXPECT_THAT(text, HasSubstr("{1, 2, … of 3}"));
  EXPECT_THAT(parse_text(text, ops).status().message(), HasSubstr("cut short"));
  g.add("Const", {}, {{"value", Tensor::scalar(std::string(100, 'x'))}, {"dtype", DType::kString}});
  EXPECT_THAT(to_text(g, {.max_values = 2}), HasSubstr("x\"… of 100 bytes"));
}

//  a ──► pick ──► next ─┐      the way back closes the loop
//         ▲─────────────┘
TEST(GraphText, LoopsCloseBackwards) {
  const OpRegistry ops = toy_ops();
  const std::string text =
      "a = Const [dtype=float, value=float[] {1}]\n"
      "pick = Pick(a, next) [N=2, T=float]\n"
      "next = Next(pick) [T=float]\n";
  EXPECT_EQ(round_trip(ops, text), text);
  EXPECT_THAT(round_trip(ops, "a = Add(b, b)[T=float]\nb = Add(a, a)\n"), HasSubstr("cycle"));
  EXPECT_THAT(round_trip(ops,
                         "a = Const [dtype=float, value=float[] {1}]\n"
                         "pick = Pick(a, next)\n"
                         "i = Const [dtype=int32, value=int32[] {1}]\n"
                         "next = Next(i)\n"),
              HasSubstr("line 2, column 16: input 1 of Pick must be float"));
}

TEST(GraphText, Functions) {
  const OpRegistry ops = toy_ops();
  const std::string text =
      "x = Const [dtype=float, value=float[] {1}]\n"
      "y = Call(x) [Tin=[float], Tout=[float], f=@double]\n"
      "\n"
      "function double(x) -> (sum, ^done) {\n"
      "  x = _Arg [T=float, index=0]\n"
      "  sum = Add(x, x) [T=float]\n"
      "  done = Wait(^sum)\n"
      "}\n";
  EXPECT_EQ(round_trip(ops, text), text);
  EXPECT_THAT(round_trip(ops, "function f(x) -> () {\n  x = Wait\n}\n"), HasSubstr("line 1, column 12"));
  EXPECT_THAT(round_trip(ops, "function f() -> (y) {\n}\n"), HasSubstr("no node \"y\""));
}

TEST(GraphText, OddNamesAreQuoted) {
  const OpRegistry ops = toy_ops();
  Graph g(ops);
  const Value odd = g.add("Const", {}, {{"value", Tensor::scalar(1.f)}, {"dtype", DType::kFloat32}}, "a b:\"0\"\n");
  g.add("Add", {odd, odd}, {}, "function");
  const std::string text = to_text(g, {.shapes = false});
  EXPECT_EQ(round_trip(ops, text), text);
}

TEST(GraphText, ErrorsNameLineAndColumn) {
  const OpRegistry ops = toy_ops();
  const std::pair<const char*, const char*> cases[] = {
      {"x", "line 1, column 2: expected '='"},
      {"\n  x = Nope", "line 2, column 7: there is no op \"Nope\""},
      {"x = Add(y, y)", "line 1, column 9: there is no node \"y\""},
      {"x = Const", "attribute value is missing"},
      {"x = Wait\nx = Wait", "line 2, column 1: node \"x\" is defined twice"},
      {"x = Wait(", "expected an input"},
      {"x = Wait(^x", "expected ',' or ')'"},
      {"x = Wait y", "expected the end of the line"},
      {"x = Wait [a=1]", "there is no attribute \"a\""},
      {"x = Const [value=float[2] {1}, dtype=float]", "has 2 values, not 1"},
      {"x = Const [value=float[9223372036854775807,9] {}, dtype=float]", "2^63 elements"},
      {"x = Conf [shape=shape[9223372036854775807,?,9]]", "2^63 elements"},
      {"x = Const [value=int8[1] {300}, dtype=int8]", "\"300\" is no int8 value"},
      {"x = Const [value=resource[] {?}, dtype=resource]", "have no text form"},
      {"x = Const [value=float[-1] {}, dtype=float]", "may not be negative"},
      {"x = Const [value=3, dtype=float]", "has the wrong kind"},
      {"x = Conf [s=\"open]", "line 1, column 13: this string has no end"},
      {"x = Conf [s=\"\\q\"]", "unknown escape"},
      {"x = Conf [ints=[1, \"a\"]]", "not of the list's kind"},
      {"x = Conf [i=99999999999999999999]", "has the wrong kind"},
      {"v = Variable [dtype=float]\nx = Assign(v, v:1)", "line 2, column 15: node \"v\" has 1 outputs"},
      {"c = Const [value=float[] {1}, dtype=float]\nx = Assign(c, c)", "must be a variable"},
      {"c = Const [value=float[] {1}, dtype=float]\nx = Split(c) [N=16000000]", "over 1048576 outputs"},
      {"c = Const [value=float[] {1}, dtype=float]\nx = Split(c) [N=999999999999]", "out of range"},
      {"function f() -> () {\n  x = Wait", "no closing '}'"},
      {"function f(", "expected an input"},
  };
  for (const auto& [text, message] : cases) {
    const auto graph = parse_text(text, ops);
    ASSERT_FALSE(graph.ok()) << text;
    EXPECT_THAT(graph.status().to_string(), HasSubstr(message)) << text;
  }
}

// Every prefix, and every text with one byte changed, is a graph or an error: never a crash.
TEST(GraphText, SurvivesDamage) {
  const OpRegistry ops = toy_ops();
  const std::string text =
      "a = Const [dtype=float, value=float[2] {1, -0.5}] @/gpu:0 # c\n"
      "p = Pick(a, n, ^a) [N=2, T=float, _c=[\"loc:@v\"]]\nn = Next(p)\nc = Conf [fn=@x, fns=[@y], shape=shape[?,3]]\n"
      "function f(x) -> (x, ^x) {\n  x = _Arg [T=complex64, index=0]\n}\n";
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const auto cut = parse_text(text.substr(0, i), ops);
    for (const char c : {'\0', '"', '[', '}', '9', '\n', '^', '\xff'}) {
      std::string damaged = text;
      if (i < text.size()) damaged[i] = c;
      const auto graph = parse_text(damaged, ops);
      if (graph.ok()) {
        EXPECT_FALSE(to_text(*graph).empty());
      }
    }
  }
}

TEST(GraphText, Dot) {
  const OpRegistry ops = toy_ops();
  const auto graph = parse_text(
      "a = Const [dtype=float, value=float[] {1}]\n"
      "b = Split(a) [N=2] @/gpu:0\n"
      "c = Add(b:1, a, ^b)\n",
      ops);
  ASSERT_TRUE(graph.ok()) << graph.status().to_string();
  const std::string dot = to_dot(*graph);
  EXPECT_THAT(dot, HasSubstr("label=\"/gpu:0\""));
  EXPECT_THAT(dot, HasSubstr("n1 -> n2 [taillabel=\"1\"];"));
  EXPECT_THAT(dot, HasSubstr("n1 -> n2 [style=dashed];"));
}

}  // namespace
}  // namespace argosy
